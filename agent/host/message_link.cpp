#include "agent/host/message_link.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

namespace kab::host {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

MessageLink::MessageLink(Stream in, Stream out, MessageHandler on_message, EndHandler on_end)
    : in_(std::move(in)), out_(std::move(out)), on_message_(std::move(on_message)), on_end_(std::move(on_end)) {}

Result<std::shared_ptr<MessageLink>> MessageLink::open(const asio::any_io_executor& executor, int in, int out,
                                                       MessageHandler on_message, EndHandler on_end) {
    try {
        std::shared_ptr<MessageLink> link(
            new MessageLink(Stream(executor, in), Stream(executor, out), std::move(on_message), std::move(on_end)));
        link->read();
        return link;
    } catch (const std::exception& e) {
        return fail(Fault::io, "stdin and stdout must be pipes or sockets to kabd: {}", e.what());
    }
}

void MessageLink::read() {
    in_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](ErrorCode error, std::size_t got) {
        if (error) return self->end(error == asio::error::eof ? std::string() : "read: " + error.message());
        self->receive({self->buffer_.data(), got});
        if (!self->ended_) self->read();
    });
}

void MessageLink::receive(std::string_view bytes) {
    reader_.push(bytes);
    while (!ended_) {
        auto payload = reader_.pop();
        if (!payload) return end(payload.error().text());
        if (!payload->has_value()) return;
        auto message = msg::decode(**payload);
        if (!message) return end(message.error().text());
        on_message_(std::move(*message));
    }
}

void MessageLink::send(const msg::Message& message) {
    const auto payload = msg::encode(message);
    if (payload.size() > max_frame_bytes) {
        // Never within a call of the owner's: it would be called back in the middle of it.
        return asio::post(out_.get_executor(), [self = shared_from_this(), size = payload.size()] {
            self->end(fmt::format("a message of {} bytes for kabd; at most {} are allowed", size, max_frame_bytes));
        });
    }
    queued_ += frame(payload);
    if (writing_.empty()) write();
}

void MessageLink::write() {
    writing_ = std::exchange(queued_, {});
    asio::async_write(out_, asio::buffer(writing_), [self = shared_from_this()](ErrorCode error, std::size_t) {
        self->writing_.clear();
        if (error) {
            self->queued_.clear();
            self->end("write: " + error.message());
        }
        if (!self->queued_.empty()) return self->write();
        if (auto done = std::exchange(self->flushed_, nullptr)) done();
    });
}

void MessageLink::flush(std::function<void()> done) {
    if (writing_.empty()) {
        asio::post(out_.get_executor(), std::move(done));
    } else {
        flushed_ = std::move(done);
    }
}

void MessageLink::end(const std::string& error) {
    if (ended_) return;
    ended_ = true;
    on_end_(error);
}

}  // namespace kab::host
