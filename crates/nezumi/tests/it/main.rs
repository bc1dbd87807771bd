//! What the public face promises, from the outside.

mod hand;

mod attributes;

mod macros_join;
mod macros_pin;
mod macros_select;
mod macros_task_local;
mod macros_try_join;
