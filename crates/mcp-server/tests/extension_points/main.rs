//! The extension points of a server: the rules of SEP-3371, each checked at every revision.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod methods;
mod middleware;

use mcp_server::Revision;

type Rule = (&'static str, fn(Revision));

const RULES: &[Rule] = &[
    (
        "registration: names of the protocol and second owners are refused",
        methods::names_of_the_protocol_and_duplicates_are_refused,
    ),
    (
        "registration: dependencies are checked, and nothing is installed in part",
        methods::extensions_are_installed_whole_or_not_at_all,
    ),
    (
        "negotiation: settings are visible on the other side",
        methods::settings_are_negotiated,
    ),
    (
        "negotiation: undeclared methods are refused",
        methods::methods_of_an_extension_are_for_clients_that_declare_it,
    ),
    (
        "messages: custom methods are typed",
        methods::custom_methods_have_typed_params_and_state,
    ),
    (
        "middleware: the first one is the outermost",
        middleware::the_first_middleware_is_the_outermost,
    ),
    (
        "middleware: it answers, changes and refuses",
        middleware::a_middleware_answers_changes_and_refuses,
    ),
    (
        "middleware: it sees each message of a stream",
        middleware::messages_of_a_handler_pass_from_the_inside_to_the_outside,
    ),
    (
        "middleware: it sees requests to the client",
        middleware::a_middleware_can_answer_for_the_client,
    ),
    (
        "middleware: a panic fails one message",
        middleware::a_panic_fails_one_request_and_drops_one_notification,
    ),
    (
        "middleware: items and mounted servers have their own",
        middleware::items_and_mounted_servers_have_their_own_middleware,
    ),
];

#[test]
fn the_rules_of_extension_points_hold_at_every_revision() {
    for revision in Revision::ALL {
        for (name, rule) in RULES {
            eprintln!("{revision}: {name}");
            rule(revision);
        }
    }
}

#[test]
fn middleware_receives_the_handshake_and_unknown_methods() {
    middleware::middleware_receives_the_handshake_and_unknown_methods();
}
