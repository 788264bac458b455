#include "agent/host/qemu/guest_socket.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

namespace kab::qemu {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

GuestSocket::GuestSocket(const asio::any_io_executor& executor, BytesHandler on_bytes, ClosedHandler on_closed)
    : acceptor_(executor), socket_(executor), on_bytes_(std::move(on_bytes)), on_closed_(std::move(on_closed)) {}

Result<std::shared_ptr<GuestSocket>> GuestSocket::listen(const asio::any_io_executor& executor, const fs::path& path,
                                                         BytesHandler on_bytes, ClosedHandler on_closed) {
    std::shared_ptr<GuestSocket> made(new GuestSocket(executor, std::move(on_bytes), std::move(on_closed)));
    try {
        const Protocol::endpoint endpoint(path.string());
        made->acceptor_.open(endpoint.protocol());
        made->acceptor_.bind(endpoint);
        made->acceptor_.listen(1);
        made->acceptor_.non_blocking(true);
    } catch (const boost::system::system_error& e) {
        return fail(Fault::infra, "listen on {}: {} (is TMPDIR short and writable?)", path.string(),
                    e.code().message());
    }
    made->accept();
    return made;
}

void GuestSocket::accept() {
    acceptor_.async_accept(socket_, [self = shared_from_this()](ErrorCode error) {
        if (!error && !self->closed_) self->connected();
    });
}

void GuestSocket::connected() {
    ErrorCode ignored;
    acceptor_.close(ignored);
    read();
    if (!queued_.empty()) write();
}

void GuestSocket::read() {
    if (paused_ || reading_ || closed_ || !socket_.is_open()) return;
    reading_ = true;
    socket_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](ErrorCode error, std::size_t got) {
        self->reading_ = false;
        if (self->closed_) return;
        if (error) return self->finish();
        // The handler may close this socket, which must not destroy what is being called.
        auto handler = std::exchange(self->on_bytes_, nullptr);
        handler({self->buffer_.data(), got});
        if (self->closed_) return;
        self->on_bytes_ = std::move(handler);
        self->read();
    });
}

void GuestSocket::send(std::string bytes) {
    queued_ += bytes;
    if (writing_.empty() && socket_.is_open()) write();
}

void GuestSocket::write() {
    writing_ = std::exchange(queued_, {});
    asio::async_write(socket_, asio::buffer(writing_), [self = shared_from_this()](ErrorCode error, std::size_t) {
        self->writing_.clear();
        // A broken connection shows when reading.
        if (!error && !self->queued_.empty()) self->write();
    });
}

void GuestSocket::pause() {
    paused_ = true;
}

void GuestSocket::resume() {
    paused_ = false;
    read();
}

void GuestSocket::emulator_ended() {
    if (closed_ || !acceptor_.is_open()) return;
    ErrorCode error;
    acceptor_.cancel(error);
    acceptor_.accept(socket_, error);
    if (!error) return connected();
    asio::post(acceptor_.get_executor(), [self = shared_from_this()] {
        // An accept that was made before the cancel has its handler called first.
        if (!self->closed_ && !self->socket_.is_open()) self->finish();
    });
}

void GuestSocket::finish() {
    const auto tell = on_closed_;
    close();
    if (tell) tell();
}

void GuestSocket::close() {
    closed_ = true;
    on_bytes_ = nullptr;
    on_closed_ = nullptr;
    ErrorCode ignored;
    acceptor_.close(ignored);
    socket_.close(ignored);
}

}  // namespace kab::qemu
