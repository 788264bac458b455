"""The include rules of docs/architecture.md: layers point one way, and some headers live in one place."""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ.get("KAB_SOURCE_DIR", pathlib.Path(__file__).parents[3]))

# Folder -> the folders of ours it may include (itself always).
MAY_INCLUDE = {
    "common": set(),
    "common/digest": {"common"},
    "common/process": {"common"},
    "common/process/supervise": {"common"},
    "protocol": {"common"},
    "protocol/api": {"common", "protocol"},
    "daemon/fault": {"common"},
    "daemon/spec": {"common", "protocol"},
    "daemon/stats": {"common"},
    "daemon/results": {"common", "daemon/stats"},
    "daemon/plan": {"common", "protocol", "daemon/spec", "daemon/stats"},
    "daemon/store": {"common", "common/digest", "daemon/fault"},
    "daemon/kernel": {"common", "common/digest", "common/process", "protocol", "daemon/kernel/text"},
    "daemon/kernel/text": {"common"},
    "daemon/builder": {"common", "daemon/kernel"},
    "daemon/host": {"common", "common/process", "protocol"},
    "daemon/report": {"common", "daemon/stats", "daemon/store"},
    "daemon/history": {"common", "daemon/stats", "daemon/store"},
    "daemon/coordinator/core": {"common", "protocol", "daemon/plan", "daemon/spec"},
    "daemon/coordinator": {
        "common", "common/digest", "common/process", "protocol", "daemon/spec", "daemon/plan", "daemon/stats",
        "daemon/store", "daemon/kernel", "daemon/host", "daemon/report", "daemon/coordinator/core",
        "daemon/fault",
    },
    "daemon/api": {"common", "protocol", "protocol/api", "daemon/coordinator", "daemon/store", "daemon/api/views"},
    "daemon/api/views": {"common", "protocol/api", "daemon/store"},
    "cli": {
        "common", "common/digest", "protocol/api", "daemon/api/views", "daemon/kernel/text", "daemon/plan",
        "daemon/history", "daemon/report", "daemon/results", "daemon/spec", "daemon/stats", "daemon/store",
    },
    "agent/guest": {"common", "protocol", "agent/guest/workloads", "agent/guest/perf"},
    "agent/guest/workloads": {"common", "protocol", "agent/guest", "agent/guest/perf"},
    "agent/guest/perf": {"common", "protocol", "agent/guest"},
    "agent/host/console": {"common", "protocol"},
}

# Header pattern -> the only folders (or files) that may include it.
ONLY_IN = {
    r"sqlite3\.h": ("daemon/store/",),
    r"yaml-cpp/": ("daemon/spec/",),
    r"boost/process": ("common/process/",),
    r"archive\.h|archive_entry\.h": ("agent/host/qemu/", "daemon/kernel/"),
}
# Folders that must stay free of event loops.
PURE = ("daemon/kernel/text", "daemon/spec", "daemon/stats", "daemon/plan", "daemon/store", "daemon/report", "daemon/history",
        "daemon/results",
        "daemon/coordinator/core", "agent/host/console", "protocol")


def sources():
    for top in ("common", "protocol", "daemon", "agent", "cli"):
        for path in sorted((SOURCE / top).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path


def includes(path):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.M)


def folder_of(path):
    return str(path.relative_to(SOURCE).parent)


class Layers(unittest.TestCase):
    def test_sources_are_found(self):
        self.assertGreater(len(list(sources())), 50)

    def test_every_folder_includes_only_what_is_below_it(self):
        wrong = []
        for path in sources():
            folder = folder_of(path)
            if folder not in MAY_INCLUDE:
                continue
            for header in includes(path):
                target = os.path.dirname(header)
                ours = target.split("/")[0] in ("common", "protocol", "daemon", "agent", "cli")
                if ours and target != folder and target not in MAY_INCLUDE[folder]:
                    wrong.append(f"{path.relative_to(SOURCE)} includes {header}")
        self.assertEqual(wrong, [])

    def test_some_libraries_are_included_in_one_place_only(self):
        wrong = []
        for path in sources():
            name = str(path.relative_to(SOURCE))
            for header in includes(path):
                for pattern, places in ONLY_IN.items():
                    if re.match(pattern, header) and not name.startswith(places):
                        wrong.append(f"{name} includes {header}")
        self.assertEqual(wrong, [])

    def test_beast_is_compiled_in_two_sources_only(self):
        users = [str(p.relative_to(SOURCE)) for p in sources() if any("boost/beast" in h for h in includes(p))]
        self.assertLessEqual(len(users), 2, users)

    def test_pure_folders_have_no_event_loop(self):
        wrong = [
            f"{path.relative_to(SOURCE)} includes {header}"
            for path in sources()
            if folder_of(path) in PURE
            for header in includes(path)
            if header.startswith("boost/asio")
        ]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
