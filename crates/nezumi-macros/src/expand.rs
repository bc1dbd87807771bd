//! What becomes of the function: the same head without `async`, and a body that builds a runtime.
//!
//! Where the options or the function are wrong, the error comes beside an expansion as good as can be, so that an editor
//! still understands the rest of the file.

use crate::function::Function;
use crate::options::{Flavor, Options, UnhandledPanic};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Ident, Result};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Main,
    Test,
}

pub(crate) fn expand(
    kind: Kind,
    multi_thread_available: bool,
    options: TokenStream,
    function: TokenStream,
) -> TokenStream {
    let parsed = match syn::parse2::<Function>(function.clone()) {
        Ok(parsed) => parsed,
        Err(error) => return beside(function, error),
    };
    let checked = check_function(kind, &parsed).and_then(|()| {
        let options = Options::parse(options)?;
        let default = match kind {
            Kind::Main => Flavor::MultiThread,
            Kind::Test => Flavor::CurrentThread,
        };
        let flavor = options.check(default, multi_thread_available)?;
        Ok((options, flavor))
    });
    match checked {
        Ok((options, flavor)) => generate(kind, parsed, &options, flavor),
        Err(error) => beside(generate(kind, parsed, &Options::default(), Flavor::CurrentThread), error),
    }
}

/// Without a runtime there is nothing to expand to.
pub(crate) fn without_runtime(kind: Kind, function: TokenStream) -> TokenStream {
    let attribute = match kind {
        Kind::Main => "main",
        Kind::Test => "test",
    };
    let what = format!("`#[{attribute}]` needs a runtime: turn on the feature `rt` or `rt-multi-thread`");
    beside(function, Error::new(Span::call_site(), what))
}

fn beside(mut expansion: TokenStream, error: Error) -> TokenStream {
    expansion.extend(error.into_compile_error());
    expansion
}

fn check_function(kind: Kind, function: &Function) -> Result<()> {
    let signature = &function.signature;
    if signature.asyncness.is_none() {
        let what = "the function is not `async`: there is nothing to run in a runtime";
        return Err(Error::new_spanned(signature.fn_token, what));
    }
    if kind == Kind::Main && signature.ident == "main" && !signature.inputs.is_empty() {
        return Err(Error::new_spanned(&signature.inputs, "`main` takes no arguments"));
    }
    if kind == Kind::Test
        && let Some(attribute) = function.test_attribute()
    {
        let what = "the function is a test already: leave one of the two attributes out";
        return Err(Error::new_spanned(attribute, what));
    }
    Ok(())
}

fn generate(kind: Kind, function: Function, options: &Options, flavor: Flavor) -> TokenStream {
    let end = function.end_span();
    let body = typed_body(&function);
    let pinned = Ident::new("pinned", Span::mixed_site());
    let build = build(options, flavor);
    let Function { attributes, visibility, mut signature, .. } = function;
    signature.asyncness = None;

    // Last, so that attributes above see a function that is not a test yet.
    let test = (kind == Kind::Test).then(|| quote!(#[::core::prelude::v1::test]));
    // A `return`, so that the function's type is met by the output even where that is `!`. At the end of the body, where a
    // mismatch is best shown.
    let run = quote_spanned! {end=>
        #[allow(clippy::needless_return, clippy::diverging_sub_expression)]
        {
            return #build.block_on(#pinned);
        }
    };
    quote! {
        #(#attributes)*
        #test
        #visibility #signature {
            // Pinned here, and only lent to the runtime: however large it is, it is not moved again.
            let #pinned = ::core::pin::pin!(#body);
            #run
        }
    }
}

/// The body as an `async` block whose type is settled before its first line, so that every mismatch is reported where it
/// is, and as one with the function's type.
fn typed_body(function: &Function) -> TokenStream {
    let Function { body, .. } = function;
    let settle = function.nameable_output().map(|output| {
        quote_spanned! {Span::mixed_site()=>
            #[allow(unreachable_code, clippy::let_unit_value, clippy::diverging_sub_expression)]
            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<#output> {
                return output;
            }
        }
    });
    // With the braces of the original, which carry its place.
    let mut block = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, quote!(#settle #body));
    block.set_span(function.brace.span.join());
    quote!(async #block)
}

fn build(options: &Options, flavor: Flavor) -> TokenStream {
    let krate = match &options.krate {
        Some(given) => {
            let path = &given.value;
            quote!(#path)
        }
        None => quote!(::nezumi),
    };
    let start = match flavor {
        Flavor::MultiThread => quote!(new_multi_thread),
        Flavor::CurrentThread | Flavor::Local => quote!(new_current_thread),
    };
    let worker_threads = options.worker_threads.as_ref().map(|given| {
        let threads = given.value;
        quote!(.worker_threads(#threads))
    });
    let start_paused = options.start_paused.as_ref().map(|given| {
        let paused = given.value;
        quote!(.start_paused(#paused))
    });
    let unhandled_panic = options.unhandled_panic.as_ref().map(|given| {
        let variant = match given.value {
            UnhandledPanic::Ignore => quote!(Ignore),
            UnhandledPanic::ShutdownRuntime => quote!(ShutdownRuntime),
        };
        quote!(.unhandled_panic(#krate::runtime::UnhandledPanic::#variant))
    });
    let name = options.name.as_ref().map(|given| {
        let name = &given.value;
        quote!(.name(#name))
    });
    let finish = match flavor {
        Flavor::Local => quote!(build_local(::core::default::Default::default())),
        Flavor::MultiThread | Flavor::CurrentThread => quote!(build()),
    };
    quote! {
        #krate::runtime::Builder::#start()
            #worker_threads
            #start_paused
            #unhandled_panic
            #name
            .enable_all()
            .#finish
            .expect("the runtime could not be built")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(kind: Kind, options: &str, function: &str) -> String {
        expand(kind, true, options.parse().unwrap(), function.parse().unwrap()).to_string()
    }

    /// The first error in an expansion.
    fn error(expansion: &str) -> String {
        let (_, after) = expansion.split_once("compile_error").expect("an error");
        after.split('"').nth(1).expect("a message").replace("\\\"", "\"").to_owned()
    }

    fn refused(kind: Kind, options: &str) -> String {
        let expansion = expanded(kind, options, "async fn f() {}");
        assert!(expansion.contains("block_on"), "an editor still sees the function");
        error(&expansion)
    }

    #[test]
    fn each_option_reaches_the_builder() {
        let all = expanded(
            Kind::Main,
            r#"flavor = "multi_thread", worker_threads = 3, name = "n", crate = "a::b","#,
            "async fn f() {}",
        );
        assert!(all.starts_with("fn f ()"), "{all}");
        for part in
            ["a :: b :: runtime :: Builder :: new_multi_thread ()", "worker_threads (3usize)", "name (\"n\")"]
        {
            assert!(all.contains(part), "{part} in {all}");
        }
        let one = expanded(
            Kind::Test,
            r#"start_paused = true, unhandled_panic = "shutdown_runtime""#,
            "async fn f() {}",
        );
        for part in [
            ":: core :: prelude :: v1 :: test",
            ":: nezumi :: runtime :: Builder :: new_current_thread ()",
            "start_paused (true)",
            "unhandled_panic (:: nezumi :: runtime :: UnhandledPanic :: ShutdownRuntime)",
        ] {
            assert!(one.contains(part), "{part} in {one}");
        }
        assert!(expanded(Kind::Main, r#"flavor = "local""#, "async fn f() {}").contains("build_local"));
    }

    #[test]
    fn the_defaults_differ_between_main_and_test() {
        assert!(expanded(Kind::Main, "", "async fn f() {}").contains("new_multi_thread"));
        assert!(expanded(Kind::Test, "", "async fn f() {}").contains("new_current_thread"));
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_cure() {
        let cases = [
            ("worker_threads = 0", "no task would ever run on 0 threads"),
            (r#"worker_threads = "two""#, "expected a number of threads"),
            ("flavor = multi_thread", "expected a string in quotes"),
            (
                r#"flavor = "threads""#,
                "there is no flavor `threads`; there are `multi_thread`, `current_thread` and `local`",
            ),
            ("start_paused = 1", "expected `true` or `false`"),
            (
                r#"unhandled_panic = "abort""#,
                "a panic cannot be handled by `abort`; there are `ignore` and `shutdown_runtime`",
            ),
            (r#"crate = "a b""#, "`a b` is not the path of a crate"),
            (r#"name = "a", name = "b""#, "`name` is given twice"),
            ("flavor", "`flavor` needs a value: `flavor = …`"),
            ("flavor =", "`flavor` needs a value: `flavor = …`"),
            ("core_threads = 2", "the option is called `worker_threads`"),
            (
                "speed = 2",
                "there is no option `speed`; there are `flavor`, `worker_threads`, `start_paused`, `unhandled_panic`, `name` and `crate`",
            ),
        ];
        for (options, what) in cases {
            assert_eq!(refused(Kind::Main, options), what, "{options}");
        }
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        assert!(
            refused(Kind::Test, "worker_threads = 2")
                .starts_with("`worker_threads` needs the flavor `multi_thread`")
        );
        assert!(
            refused(Kind::Main, "start_paused = true")
                .starts_with("`start_paused` needs the flavor `current_thread`")
        );
        assert!(
            refused(Kind::Main, r#"unhandled_panic = "ignore""#)
                .starts_with("`unhandled_panic` needs the flavor `current_thread`")
        );
    }

    #[test]
    fn without_several_threads_the_default_of_main_is_refused() {
        let f: TokenStream = "async fn f() {}".parse().unwrap();
        let default = expand(Kind::Main, false, TokenStream::new(), f.clone()).to_string();
        assert!(error(&default).starts_with("the default flavor is `multi_thread`"));
        let asked =
            expand(Kind::Test, false, r#"flavor = "multi_thread""#.parse().unwrap(), f.clone()).to_string();
        assert_eq!(error(&asked), "the flavor `multi_thread` needs the feature `rt-multi-thread`");
        let fine = expand(Kind::Test, false, TokenStream::new(), f).to_string();
        assert!(!fine.contains("compile_error"));
    }

    #[test]
    fn functions_that_cannot_be_it_are_refused() {
        let not_async = expanded(Kind::Main, "", "fn main() {}");
        assert_eq!(error(&not_async), "the function is not `async`: there is nothing to run in a runtime");
        let arguments = expanded(Kind::Main, "", "async fn main(x: u8) {}");
        assert_eq!(error(&arguments), "`main` takes no arguments");
        assert!(!expanded(Kind::Main, "", "async fn other(x: u8) {}").contains("compile_error"));
        for twice in ["#[test] async fn f() {}", "#[std::prelude::v1::test] async fn f() {}"] {
            assert!(error(&expanded(Kind::Test, "", twice)).starts_with("the function is a test already"));
        }
        assert!(error(&without_runtime(Kind::Test, TokenStream::new()).to_string()).contains("feature `rt`"));
        assert!(expanded(Kind::Main, "", "struct NotAFunction;").contains("compile_error"));
    }

    #[test]
    fn attributes_inside_the_body_move_above_it() {
        let lifted = expanded(Kind::Main, "", "#[a] async fn f() { #![allow(x)] g() }");
        assert!(lifted.starts_with("# [a] # [allow (x)] fn f ()"), "{lifted}");
    }

    #[test]
    fn an_output_without_a_name_is_left_to_inference() {
        assert!(expanded(Kind::Main, "", "async fn f() -> u8 { 1 }").contains("None :: < u8 >"));
        for unnamed in ["async fn f() -> ! { loop {} }", "async fn f() -> Result<impl Copy, ()> { Ok(1) }"] {
            assert!(!expanded(Kind::Main, "", unnamed).contains("None ::"), "{unnamed}");
        }
    }
}
