//! Bytes that a program gives away, without a copy where their owner can come along to another thread.
//!
//! Called by `write`, whose argument is any `AsRef<[u8]>`: most may borrow from the caller and must be copied; three types cannot,
//! and are recognised.
//!
//! Tests: `owners_come_along`, `what_is_borrowed_is_copied`.

use bytes::Bytes;
use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, transmute_copy};

/// Bytes that borrow from nobody.
#[derive(Debug)]
pub(super) enum Contents {
    Vec(Vec<u8>),
    Bytes(Bytes),
}

impl Contents {
    pub(super) fn own<B: AsRef<[u8]>>(bytes: B) -> Self {
        let bytes = match cast::<B, Vec<u8>>(bytes) {
            Ok(vec) => return Contents::Vec(vec),
            Err(other) => other,
        };
        let bytes = match cast::<B, String>(bytes) {
            Ok(string) => return Contents::Vec(string.into_bytes()),
            Err(other) => other,
        };
        match cast::<B, Bytes>(bytes) {
            Ok(bytes) => Contents::Bytes(bytes),
            Err(other) => Contents::Vec(other.as_ref().to_vec()),
        }
    }
}

impl AsRef<[u8]> for Contents {
    fn as_ref(&self) -> &[u8] {
        match self {
            Contents::Vec(vec) => vec,
            Contents::Bytes(bytes) => bytes,
        }
    }
}

/// `from` as a `T`, if it is one.
fn cast<F, T: 'static>(from: F) -> Result<T, F> {
    if id_of::<F>() != TypeId::of::<T>() {
        return Err(from);
    }
    let from = ManuallyDrop::new(from);
    // SAFETY: the ids are equal, so the two types are the same but for lifetimes, and `T` has none: it is `'static` and one of the
    // three named above, without parameters. `from` is not used again, nor dropped.
    Ok(unsafe { transmute_copy::<ManuallyDrop<F>, T>(&from) })
}

/// The id of a type, whose lifetimes are forgotten.
fn id_of<F>() -> TypeId {
    trait Id {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }

    impl<F> Id for PhantomData<F> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<F>()
        }
    }

    let phantom: PhantomData<F> = PhantomData;
    let borrowed: &dyn Id = &phantom;
    // SAFETY: only the lifetime of the trait object is changed, to that `id` asks for. `id` makes no use of anything that
    // lives for it: it names a type, of which the compiler keeps no lifetimes.
    let forever: &'static (dyn Id + 'static) = unsafe { std::mem::transmute(borrowed) };
    forever.id()
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn owners_come_along() {
        let vec = vec![1, 2, 3];
        let place = vec.as_ptr();
        assert_eq!(Contents::own(vec).as_ref().as_ptr(), place);
        let string = "abc".to_owned();
        let place = string.as_ptr();
        assert_eq!(Contents::own(string).as_ref().as_ptr(), place);
        let bytes = Bytes::from(vec![1, 2, 3]);
        let place = bytes.as_ptr();
        assert_eq!(Contents::own(bytes).as_ref().as_ptr(), place);
    }

    #[test]
    fn what_is_borrowed_is_copied() {
        struct Borrows<'a>(&'a Vec<u8>);
        impl AsRef<[u8]> for Borrows<'_> {
            fn as_ref(&self) -> &[u8] {
                self.0
            }
        }
        let vec = vec![4, 5];
        for owned in [Contents::own(Borrows(&vec)), Contents::own(&vec), Contents::own(&vec[..])] {
            assert_eq!(owned.as_ref(), [4, 5]);
            assert_ne!(owned.as_ref().as_ptr(), vec.as_ptr());
        }
        assert_eq!(Contents::own("text").as_ref(), b"text");
        assert_eq!(Contents::own([6; 3]).as_ref(), [6; 3]);
        assert_eq!(Contents::own(Box::<[u8]>::from([7, 8])).as_ref(), [7, 8]);
    }
}
