//! Several stacks as one tree: what they have in common is shown once.

use std::fmt;

/// What the stacks that were added have in common, and where they part.
#[derive(Debug, Default)]
pub(super) struct Tree {
    branches: Vec<Branch>,
}

#[derive(Debug)]
struct Branch {
    label: String,
    rest: Tree,
}

impl Tree {
    /// Adds a stack, outermost frame first.
    pub(super) fn add(&mut self, stack: impl Iterator<Item = String>) {
        let mut tree = self;
        for label in stack {
            let at = tree.branches.iter().position(|branch| branch.label == label).unwrap_or_else(|| {
                tree.branches.push(Branch { label, rest: Tree::default() });
                tree.branches.len() - 1
            });
            tree = &mut tree.branches[at].rest;
        }
    }

    /// `indent` is what stands left of the branches. Only where the tree forks does it call itself: stacks are deep.
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: &mut String, is_first: &mut bool) -> fmt::Result {
        let mut tree = self;
        let width = indent.len();
        loop {
            match &tree.branches[..] {
                [] => break,
                [only] => {
                    line(f, indent, "└╼ ", &only.label, is_first)?;
                    indent.push_str("   ");
                    tree = &only.rest;
                }
                [fork @ .., last] => {
                    for branch in fork {
                        line(f, indent, "├╼ ", &branch.label, is_first)?;
                        let width = indent.len();
                        indent.push_str("│  ");
                        branch.rest.write(f, indent, is_first)?;
                        indent.truncate(width);
                    }
                    line(f, indent, "└╼ ", &last.label, is_first)?;
                    indent.push_str("   ");
                    tree = &last.rest;
                }
            }
        }
        indent.truncate(width);
        Ok(())
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    indent: &str,
    mark: &str,
    label: &str,
    is_first: &mut bool,
) -> fmt::Result {
    if !std::mem::replace(is_first, false) {
        writeln!(f)?;
    }
    write!(f, "{indent}{mark}{label}")
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &mut String::new(), &mut true)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Tree;

    #[test]
    fn what_stacks_have_in_common_is_shown_once() {
        let mut tree = Tree::default();
        for stack in [["a", "b", "c"], ["a", "b", "d"], ["a", "e", "f"]] {
            tree.add(stack.into_iter().map(str::to_owned));
        }
        let expected = "└╼ a\n   ├╼ b\n   │  ├╼ c\n   │  └╼ d\n   └╼ e\n      └╼ f";
        assert_eq!(tree.to_string(), expected);
        assert_eq!(Tree::default().to_string(), "");
    }
}
