//! What every public type can do without saying so: be sent, shared, moved while pinned, and survive a panic.
//!
//! Held by the compiler; the functions are only called so that they are compiled.

use crate::*;
use std::future::Future;
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;

fn all<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn unpin<T: Unpin>() {}

/// Ambiguous, and so an error, for a type that is what it should not be.
macro_rules! not {
    ($ty:ty: $auto:path) => {{
        trait AmbiguousIf<A> {
            fn check() {}
        }
        impl<T: ?Sized> AmbiguousIf<()> for T {}
        impl<T: ?Sized + $auto> AmbiguousIf<u8> for T {}
        <$ty as AmbiguousIf<_>>::check();
    }};
}

type NotSend = std::rc::Rc<u8>;
/// Sent, not shared.
type NotSync = std::cell::Cell<u8>;

#[test]
fn types_are_what_their_parts_are() {
    send::<ReadBuf<'_>>();
    sync::<ReadBuf<'_>>();
    unpin::<ReadBuf<'_>>();
    not!(ReadBuf<'_>: UnwindSafe);
    all::<Interest>();
    all::<Ready>();
    all::<Empty>();
    all::<Repeat>();
    all::<Sink>();
    all::<DuplexStream>();
    all::<SimplexStream>();
    all::<BufReader<u8>>();
    all::<BufWriter<u8>>();
    all::<BufStream<u8>>();
    all::<Take<u8>>();
    all::<Chain<u8, u8>>();
    all::<Lines<u8>>();
    all::<Split<u8>>();
    all::<Join<u8, u8>>();
    not!(BufReader<NotSend>: Send);
    not!(BufWriter<NotSync>: Sync);
    not!(BufStream<PhantomPinned>: Unpin);
    not!(Take<PhantomPinned>: Unpin);
    not!(Chain<u8, PhantomPinned>: Unpin);
    not!(Join<PhantomPinned, u8>: Unpin);
}

#[test]
fn halves_pass_their_stream_from_thread_to_thread() {
    all::<ReadHalf<u8>>();
    all::<WriteHalf<u8>>();
    send::<ReadHalf<NotSync>>();
    not!(ReadHalf<NotSync>: Sync);
    not!(WriteHalf<NotSend>: Send);
    not!(ReadHalf<NotSend>: Send);
    // The stream does not lie in the half, so the half may be moved even if the stream may not.
    unpin::<ReadHalf<PhantomPinned>>();
    unpin::<WriteHalf<PhantomPinned>>();
    fn survives<T: UnwindSafe + RefUnwindSafe>() {}
    survives::<ReadHalf<&mut NotSync>>();
    survives::<WriteHalf<&mut NotSync>>();
}

type Reader = Pin<Box<dyn AsyncBufRead + Send + Sync>>;
type Writer = Pin<Box<dyn AsyncWrite + Send + Sync>>;
type Seeker = Pin<Box<dyn AsyncSeek + Send + Sync>>;

/// Futures that a task may hold, and that may become those of an `async fn`: `!Unpin`.
macro_rules! futures {
    ($($name:ident($($arg:ident: $ty:ty),*) $body:expr;)*) => {$(
        #[allow(dead_code)]
        fn $name($($arg: $ty),*) {
            fn is<F: Future + Send + Sync>(_: &F) {
                sync::<F>();
            }
            trait AmbiguousIfUnpin<A> {
                fn check(&self) {}
            }
            impl<T: ?Sized> AmbiguousIfUnpin<()> for T {}
            impl<T: ?Sized + Unpin> AmbiguousIfUnpin<u8> for T {}
            let future = $body;
            is(&future);
            future.check();
        }
    )*};
}

futures! {
    read(r: &mut Reader, buf: &mut [u8]) r.read(buf);
    read_buf(r: &mut Reader, buf: &mut Vec<u8>) r.read_buf(buf);
    read_exact(r: &mut Reader, buf: &mut [u8]) r.read_exact(buf);
    read_u8(r: &mut Reader) r.read_u8();
    read_f64_le(r: &mut Reader) r.read_f64_le();
    read_to_end(r: &mut Reader, buf: &mut Vec<u8>) r.read_to_end(buf);
    read_to_string(r: &mut Reader, buf: &mut String) r.read_to_string(buf);
    read_until(r: &mut Reader, buf: &mut Vec<u8>) r.read_until(0, buf);
    read_line(r: &mut Reader, buf: &mut String) r.read_line(buf);
    fill_buf(r: &mut Reader) r.fill_buf();
    next_line(lines: &mut Lines<Reader>) lines.next_line();
    next_segment(segments: &mut Split<Reader>) segments.next_segment();
    write(w: &mut Writer, buf: &[u8]) w.write(buf);
    write_vectored(w: &mut Writer) w.write_vectored(&[]);
    write_buf(w: &mut Writer, buf: &mut &[u8]) w.write_buf(buf);
    write_all(w: &mut Writer, buf: &[u8]) w.write_all(buf);
    write_all_buf(w: &mut Writer, buf: &mut &[u8]) w.write_all_buf(buf);
    write_u8(w: &mut Writer) w.write_u8(0);
    write_i128_le(w: &mut Writer) w.write_i128_le(0);
    flush(w: &mut Writer) w.flush();
    shutdown(w: &mut Writer) w.shutdown();
    seek(s: &mut Seeker) s.seek(SeekFrom::Start(0));
    copying(r: &mut Reader, w: &mut Writer) copy(r, w);
    copying_buf(r: &mut Reader, w: &mut Writer) copy_buf(r, w);
    copying_both(a: &mut DuplexStream, b: &mut DuplexStream) copy_bidirectional(a, b);
    copying_sizes(a: &mut DuplexStream, b: &mut DuplexStream) copy_bidirectional_with_sizes(a, b, 1, 1);
}
