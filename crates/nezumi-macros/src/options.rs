//! What stands in the parentheses of the attribute.
//!
//! Read in two steps: [`Options::parse`] takes each option by itself, [`Options::check`] holds them against each other and
//! against what was compiled in.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitBool, LitInt, LitStr, Path, Result, Token, ext::IdentExt};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Flavor {
    MultiThread,
    CurrentThread,
    Local,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum UnhandledPanic {
    Ignore,
    ShutdownRuntime,
}

/// A value, and where it was given.
pub(crate) struct Given<T> {
    pub(crate) value: T,
    span: Span,
}

#[derive(Default)]
pub(crate) struct Options {
    pub(crate) flavor: Option<Given<Flavor>>,
    pub(crate) worker_threads: Option<Given<usize>>,
    pub(crate) start_paused: Option<Given<bool>>,
    pub(crate) unhandled_panic: Option<Given<UnhandledPanic>>,
    pub(crate) name: Option<Given<String>>,
    pub(crate) krate: Option<Given<Path>>,
}

const KNOWN: &str = "`flavor`, `worker_threads`, `start_paused`, `unhandled_panic`, `name` and `crate`";

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        for option in Punctuated::<OneOption, Token![,]>::parse_terminated.parse2(tokens)? {
            options.set(option)?;
        }
        Ok(options)
    }

    fn set(&mut self, option: OneOption) -> Result<()> {
        let key = option.key.unraw().to_string();
        match key.as_str() {
            "flavor" => option.fill(&mut self.flavor, flavor),
            "worker_threads" => option.fill(&mut self.worker_threads, worker_threads),
            "start_paused" => option.fill(&mut self.start_paused, |tokens| {
                expected::<LitBool>(tokens, "`true` or `false`").map(|literal| literal.value)
            }),
            "unhandled_panic" => option.fill(&mut self.unhandled_panic, unhandled_panic),
            "name" => option.fill(&mut self.name, |tokens| text(tokens).map(|literal| literal.value())),
            "crate" => option.fill(&mut self.krate, |tokens| {
                let literal = text(tokens)?;
                literal.parse().map_err(|_| {
                    Error::new(literal.span(), format!("`{}` is not the path of a crate", literal.value()))
                })
            }),
            _ => Err(Error::new(option.key.span(), unknown(&key))),
        }
    }

    /// The flavor to build, after every combination that cannot work has been refused.
    pub(crate) fn check(&self, default: Flavor, multi_thread_available: bool) -> Result<Flavor> {
        let flavor = self.flavor.as_ref().map_or(default, |given| given.value);
        if flavor == Flavor::MultiThread {
            if !multi_thread_available {
                return Err(match &self.flavor {
                    Some(given) => Error::new(
                        given.span,
                        "the flavor `multi_thread` needs the feature `rt-multi-thread`",
                    ),
                    None => Error::new(
                        Span::call_site(),
                        "the default flavor is `multi_thread`, which needs the feature `rt-multi-thread`: turn the \
                         feature on, or say `flavor = \"current_thread\"`",
                    ),
                });
            }
            only_with(self.start_paused.as_ref(), "start_paused", "current_thread")?;
            only_with(self.unhandled_panic.as_ref(), "unhandled_panic", "current_thread")?;
        } else {
            only_with(self.worker_threads.as_ref(), "worker_threads", "multi_thread")?;
        }
        Ok(flavor)
    }
}

fn only_with<T>(option: Option<&Given<T>>, name: &str, flavor: &str) -> Result<()> {
    match option {
        None => Ok(()),
        Some(given) => Err(Error::new(
            given.span,
            format!("`{name}` needs the flavor `{flavor}`: add `flavor = \"{flavor}\"`"),
        )),
    }
}

fn unknown(key: &str) -> String {
    match key {
        "multi_thread" | "threaded_scheduler" => {
            "the flavor is given as `flavor = \"multi_thread\"`".to_owned()
        }
        "current_thread" | "basic_scheduler" | "single_thread" | "local" => {
            let flavor = if key == "local" { key } else { "current_thread" };
            format!("the flavor is given as `flavor = \"{flavor}\"`")
        }
        "core_threads" | "threads" | "workers" => "the option is called `worker_threads`".to_owned(),
        _ => format!("there is no option `{key}`; there are {KNOWN}"),
    }
}

/// `key = value`; the value is read once the key says as what.
struct OneOption {
    key: Ident,
    value: TokenStream,
}

impl Parse for OneOption {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = Ident::parse_any(input)?;
        if !input.peek(Token![=]) {
            let what = match key.to_string().as_str() {
                "flavor" | "worker_threads" | "start_paused" | "unhandled_panic" | "name" | "crate" => {
                    format!("`{key}` needs a value: `{key} = …`")
                }
                other => unknown(other),
            };
            return Err(Error::new(key.span(), what));
        }
        input.parse::<Token![=]>()?;
        let mut value = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            value.extend([input.parse::<proc_macro2::TokenTree>()?]);
        }
        if value.is_empty() {
            return Err(Error::new(key.span(), format!("`{key}` needs a value: `{key} = …`")));
        }
        Ok(Self { key, value })
    }
}

impl OneOption {
    fn fill<T>(
        self,
        place: &mut Option<Given<T>>,
        read: impl FnOnce(TokenStream) -> Result<T>,
    ) -> Result<()> {
        let span = self.key.span();
        if place.is_some() {
            return Err(Error::new(span, format!("`{}` is given twice", self.key)));
        }
        *place = Some(Given { value: read(self.value)?, span });
        Ok(())
    }
}

fn expected<T: Parse>(tokens: TokenStream, what: &str) -> Result<T> {
    syn::parse2(tokens.clone()).map_err(|_| Error::new_spanned(tokens, format!("expected {what}")))
}

fn text(tokens: TokenStream) -> Result<LitStr> {
    expected(tokens, "a string in quotes")
}

fn flavor(tokens: TokenStream) -> Result<Flavor> {
    let literal = text(tokens)?;
    match literal.value().as_str() {
        "multi_thread" => Ok(Flavor::MultiThread),
        "current_thread" => Ok(Flavor::CurrentThread),
        "local" => Ok(Flavor::Local),
        other => Err(Error::new(
            literal.span(),
            format!("there is no flavor `{other}`; there are `multi_thread`, `current_thread` and `local`"),
        )),
    }
}

fn worker_threads(tokens: TokenStream) -> Result<usize> {
    let literal: LitInt = expected(tokens, "a number of threads")?;
    match literal.base10_parse() {
        Ok(0) => Err(Error::new(literal.span(), "no task would ever run on 0 threads")),
        other => other,
    }
}

fn unhandled_panic(tokens: TokenStream) -> Result<UnhandledPanic> {
    let literal = text(tokens)?;
    match literal.value().as_str() {
        "ignore" => Ok(UnhandledPanic::Ignore),
        "shutdown_runtime" => Ok(UnhandledPanic::ShutdownRuntime),
        other => Err(Error::new(
            literal.span(),
            format!("a panic cannot be handled by `{other}`; there are `ignore` and `shutdown_runtime`"),
        )),
    }
}
