//! The attributes `#[nezumi::main]` and `#[nezumi::test]`.
//!
//! In reading order: `options` (what stands in the parentheses), `function` (what stands below), `expand` (what becomes of
//! the two). Programs use them through the crate `nezumi`, which exports the variant that fits its features: with several
//! threads, with one (`*_rt`), or with none (`*_fail`).

mod expand;
mod function;
mod options;

use expand::Kind;
use proc_macro::TokenStream;

/// Makes an `async fn` an ordinary one that builds a runtime and runs its body in it.
///
/// Meant for `main`; on any other function it does the same for each call. The body is no task: it runs on the calling
/// thread, and only what it spawns runs on the workers.
///
/// # Options
///
/// | option | meaning | default |
/// |---|---|---|
/// | `flavor` | `"multi_thread"`, `"current_thread"`, or `"local"` (one thread, and `spawn_local` without a `LocalSet`) | `"multi_thread"` |
/// | `worker_threads` | how many threads run tasks; `multi_thread` only | one for each core |
/// | `start_paused` | whether the clock stands still, see `time::pause`; one thread only, feature `test-util` | `false` |
/// | `unhandled_panic` | `"ignore"` a task's panic, or `"shutdown_runtime"`; one thread only | `"ignore"` |
/// | `name` | what the runtime is called in metrics and dumps | none |
/// | `crate` | the path of `nezumi` where it has another name | `"nezumi"` |
///
/// # Examples
///
/// ```
/// #[nezumi::main]
/// async fn main() {
///     println!("on as many threads as there are cores");
/// }
/// ```
///
/// ```
/// #[nezumi::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     println!("on this thread only");
///     Ok(())
/// }
/// ```
///
/// ```
/// #[nezumi::main(worker_threads = 2, name = "ingest")]
/// async fn main() {
///     assert_eq!(nezumi::runtime::Handle::current().metrics().num_workers(), 2);
/// }
/// ```
///
/// Without the attribute, the first of these is
///
/// ```
/// fn main() {
///     nezumi::runtime::Builder::new_multi_thread()
///         .enable_all()
///         .build()
///         .unwrap()
///         .block_on(async {
///             println!("on as many threads as there are cores");
///         })
/// }
/// ```
///
/// What cannot work is refused when it is compiled:
///
/// ```compile_fail
/// // One thread has no worker threads to count.
/// #[nezumi::main(flavor = "current_thread", worker_threads = 4)]
/// async fn main() {}
/// ```
///
/// ```compile_fail
/// #[nezumi::main]
/// fn main() {} // not async
/// ```
///
/// # Panics
///
/// When the runtime cannot be built, for instance for want of file descriptors.
#[allow(clippy::needless_doctest_main)]
#[proc_macro_attribute]
pub fn main(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::expand(Kind::Main, true, options.into(), function.into()).into()
}

/// `main` where the feature `rt-multi-thread` is off: the flavor must be given.
///
/// See the documentation of `nezumi::main` with all features.
#[proc_macro_attribute]
pub fn main_rt(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::expand(Kind::Main, false, options.into(), function.into()).into()
}

/// `main` where the feature `rt` is off: it cannot work, and says so.
#[proc_macro_attribute]
pub fn main_fail(_options: TokenStream, function: TokenStream) -> TokenStream {
    expand::without_runtime(Kind::Main, function.into()).into()
}

/// Makes an `async fn` a test that builds a runtime and runs its body in it.
///
/// The options are those of [`main`], but the flavor is `"current_thread"` by default: each test has a runtime of its
/// own, and many tests run at once.
///
/// # Examples
///
/// ```no_run
/// #[nezumi::test]
/// async fn answers() {
///     assert_eq!(nezumi::spawn(async { 42 }).await.unwrap(), 42);
/// }
/// ```
///
/// With the clock stopped, a test of hours takes no time:
///
/// ```no_run
/// use std::time::Duration;
///
/// #[nezumi::test(start_paused = true)]
/// async fn waits_an_hour() {
///     nezumi::time::sleep(Duration::from_secs(3600)).await;
/// }
/// ```
///
/// On several threads:
///
/// ```no_run
/// #[nezumi::test(flavor = "multi_thread", worker_threads = 2)]
/// async fn on_two_threads() {}
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::expand(Kind::Test, true, options.into(), function.into()).into()
}

/// `test` where the feature `rt-multi-thread` is off.
///
/// See the documentation of `nezumi::test` with all features.
#[proc_macro_attribute]
pub fn test_rt(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::expand(Kind::Test, false, options.into(), function.into()).into()
}

/// `test` where the feature `rt` is off: it cannot work, and says so.
#[proc_macro_attribute]
pub fn test_fail(_options: TokenStream, function: TokenStream) -> TokenStream {
    expand::without_runtime(Kind::Test, function.into()).into()
}
