/// What every lock guard does: it stands for the value behind it, in `Deref`, `Debug` and `Display`.
///
/// The guard type has a method `pointer`, which points to the value for as long as the guard holds the lock.
macro_rules! see_through {
    ({$($generics:tt)*} $guard:ty => $value:ident, exclusive) => {
        see_through!({$($generics)*} $guard => $value, shared);

        impl<$($generics)*> std::ops::DerefMut for $guard {
            #[inline]
            fn deref_mut(&mut self) -> &mut $value {
                // SAFETY: the guard holds the lock alone, and is borrowed exclusively for as long as the reference lives.
                unsafe { &mut *self.pointer() }
            }
        }
    };
    ({$($generics:tt)*} $guard:ty => $value:ident, shared) => {
        impl<$($generics)*> std::ops::Deref for $guard {
            type Target = $value;

            #[inline]
            fn deref(&self) -> &$value {
                // SAFETY: the guard holds the lock, so nobody writes; it is borrowed for as long as the reference lives.
                unsafe { &*self.pointer() }
            }
        }

        impl<$($generics)*> std::fmt::Debug for $guard
        where
            $value: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($generics)*> std::fmt::Display for $guard
        where
            $value: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
