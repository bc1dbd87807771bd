/// Makes a constructor `const` where it can be: the atomics of the model checkers have no constant constructors.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(any(nezumi_loom, nezumi_shuttle))]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
