//! The function that the attribute stands on.
//!
//! Only its head is parsed. The body stays the tokens it is, so that it costs nothing however long it is, and so that
//! whatever the compiler accepts, and whatever it will accept one day, is accepted here.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::token::Brace;
use syn::{AttrStyle, Attribute, Result, ReturnType, Signature, Type, Visibility, braced};

pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    pub(crate) brace: Brace,
    pub(crate) body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature = input.parse()?;
        let content;
        let brace = braced!(content in input);
        // `#![allow(…)]` at the head of the body speaks of the whole function: it may as well stand above it, while in the
        // block that the body becomes it would be an error.
        for mut attribute in content.call(Attribute::parse_inner)? {
            attribute.style = AttrStyle::Outer;
            attributes.push(attribute);
        }
        Ok(Self { attributes, visibility, signature, brace, body: content.parse()? })
    }
}

impl Function {
    /// Where the body ends: a mismatch of its type is best shown there.
    pub(crate) fn end_span(&self) -> Span {
        self.brace.span.close()
    }

    /// The type returned, if it can be named inside of the body: `impl Trait` cannot, nor can `!` on a stable compiler.
    pub(crate) fn nameable_output(&self) -> Option<TokenStream> {
        match &self.signature.output {
            ReturnType::Default => Some(quote::quote!(())),
            ReturnType::Type(_, output) if matches!(**output, Type::Never(_)) || mentions_impl(output) => {
                None
            }
            ReturnType::Type(_, output) => Some(output.to_token_stream()),
        }
    }

    /// The attribute that makes this a test already, if there is one.
    pub(crate) fn test_attribute(&self) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| {
            let path: Vec<_> =
                attribute.path().segments.iter().map(|segment| segment.ident.to_string()).collect();
            let path: Vec<_> = path.iter().map(String::as_str).collect();
            matches!(path[..], ["test"] | ["core" | "std", "prelude", _, "test"])
        })
    }
}

/// Whether the word `impl` stands anywhere in the type. Nothing else that a type is written with is called so.
fn mentions_impl(output: &Type) -> bool {
    fn in_tokens(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(word) => word == "impl",
            proc_macro2::TokenTree::Group(group) => in_tokens(group.stream()),
            _ => false,
        })
    }
    in_tokens(output.to_token_stream())
}
