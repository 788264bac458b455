#!/usr/bin/env python3
"""The parser and schema/experiment.schema.json describe one language: every file is judged alike by both.

The schema is fed the JSON that the parser exports. Two lists below name the bad files that a schema
cannot judge, with the reason; a file in a list that is judged alike after all fails the test too.
"""
import json
import os
import pathlib
import subprocess
import unittest

import jsonschema

SOURCE = pathlib.Path(os.environ["KAB_SOURCE_DIR"])
EXPORT = pathlib.Path(os.environ["KAB_BIN_DIR"]).parent / "tests" / "spec_export"
GOLDEN = SOURCE / "tests" / "golden" / "spec"

SYNTAX = "no document: not YAML, or YAML that is refused as such"
DUPLICATE = "JSON has no duplicate keys"
NOT_EXPORTED = {
    "empty": SYNTAX, "only-comments": SYNTAX, "not-yaml": SYNTAX, "unterminated-quote": SYNTAX, "tab-indent": SYNTAX,
    "not-utf8": SYNTAX, "binary": SYNTAX, "utf16": SYNTAX, "two-documents": SYNTAX, "alias-bomb": SYNTAX,
    "alias-unknown": SYNTAX, "tag": SYNTAX, "merge-key": SYNTAX, "deep": SYNTAX, "brackets": SYNTAX,
    "key-that-is-a-list": SYNTAX, "key-that-is-nothing": SYNTAX, "duplicate-key": DUPLICATE,
    "duplicate-arm": DUPLICATE,
}

ORDER = "a schema knows no order, neither of keys nor of numbers"
OTHER = "depends on what another place of the file says"
UNITS = "a schema cannot compare quantities with units"
NOT_SAID_BY_SCHEMA = {
    "against-first": ORDER, "against-later": ORDER, "against-itself": ORDER, "against-slip": ORDER,
    "looks-descending": ORDER, "checks-twice": OTHER, "checks-without-variants": OTHER,
    "image-inherited-with-patches": OTHER, "patches-repeat-defaults": OTHER, "workload-twice": OTHER,
    "sweep-and-with": OTHER, "busy-without-exact": OTHER, "relink-image": OTHER, "checks-of-images": OTHER,
    "sweep-product": OTHER, "runs-too-many": OTHER, "primary-unknown": OTHER, "primary-not-counted": OTHER,
    "primary-no-group": OTHER, "at-without-sweep": OTHER, "at-half-a-point": OTHER, "at-not-swept": OTHER,
    "at-other-parameter": OTHER, "exact-primary-by-ticks": OTHER,
    "share-without-margin": OTHER, "share-without-direction": OTHER,
    "primary-linear": OTHER, "margin-large": OTHER, "margin-percent-of-linear": OTHER,
    "host-memory-small": UNITS, "limits-zero": UNITS, "limits-long": UNITS,
    "limits-order": UNITS, "limits-order-default": UNITS,
}


def judge(files):
    """What the parser says of each file: a dict per file."""
    output = subprocess.run([EXPORT, *files], check=True, capture_output=True, text=True).stdout
    judged = [json.loads(line) for line in output.splitlines()]
    assert len(judged) == len(files), (len(judged), len(files))
    return judged


class SpecSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        schema = json.loads((SOURCE / "schema" / "experiment.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def schema_errors(self, document):
        return [f"{error.json_path}: {error.message}" for error in self.validator.iter_errors(document)]

    def test_good_files_are_accepted_by_both(self):
        files = sorted((GOLDEN / "good").glob("*.yaml")) + sorted((SOURCE / "configs" / "experiments").glob("*.yaml"))
        self.assertGreater(len(files), 10)
        for judged in judge(files):
            with self.subTest(judged["file"]):
                self.assertEqual(judged["errors"], [])
                self.assertEqual(self.schema_errors(judged["exported"]), [])

    def test_bad_files_are_refused_by_both(self):
        files = sorted((GOLDEN / "bad").glob("*.yaml"))
        names = {file.stem for file in files}
        self.assertGreater(len(files), 80)
        self.assertLessEqual(set(NOT_EXPORTED) | set(NOT_SAID_BY_SCHEMA), names, "a listed file does not exist")
        for judged in judge(files):
            name = pathlib.Path(judged["file"]).stem
            with self.subTest(name):
                self.assertNotEqual(judged["errors"], [], "accepted by the parser")
                exported = judged["exported"]
                if name in NOT_EXPORTED:
                    self.assertIsNone(exported, "is exported: take it off the list")
                    continue
                # A null document is exported as null, which is not to be confused with no export.
                if exported is None and name != "null-document":
                    self.fail("is not exported: put it on the list with the reason")
                errors = self.schema_errors(exported)
                if name in NOT_SAID_BY_SCHEMA:
                    self.assertEqual(errors, [], "is refused by the schema: take it off the list")
                else:
                    self.assertNotEqual(errors, [], "accepted by the schema")


if __name__ == "__main__":
    unittest.main()
