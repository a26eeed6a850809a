//! Parses a template.

use super::syntax::{Modifier, Operator, Part, TemplateError, Variable, is_triplet};

/// Maximum length of a template, in bytes.
const BYTES: usize = 8 * 1024;
/// Maximum number of variables of a template.
const VARIABLES: usize = 64;

pub(super) fn parse(template: &str) -> Result<Vec<Part>, TemplateError> {
    if template.len() > BYTES {
        let problem = format!("the template is longer than {BYTES} bytes: shorten the template");
        return Err(TemplateError::new(BYTES, problem));
    }
    let mut parts = Vec::new();
    let mut total = 0;
    let mut at = 0;
    while at < template.len() {
        let rest = &template[at..];
        let literal = rest.find(['{', '}']).unwrap_or(rest.len());
        if literal > 0 {
            check_literal(&rest[..literal], at)?;
            parts.push(Part::Literal(rest[..literal].to_owned()));
            at += literal;
            continue;
        }
        if rest.starts_with('}') {
            return Err(TemplateError::new(
                at,
                "\"}\" has no opening brace: write \"%7D\" for the character",
            ));
        }
        let Some(end) = rest.find('}') else {
            return Err(TemplateError::new(at, "\"{\" is not closed: add \"}\""));
        };
        let (operator, variables) = expression(&rest[1..end], at + 1)?;
        total += variables.len();
        if total > VARIABLES {
            let problem = format!("the template has more than {VARIABLES} variables: remove some");
            return Err(TemplateError::new(at, problem));
        }
        parts.push(Part::Expression {
            operator,
            variables,
        });
        at += end + 1;
    }
    Ok(parts)
}

fn check_literal(text: &str, at: usize) -> Result<(), TemplateError> {
    for (offset, character) in text.char_indices() {
        let legal = match character {
            '%' => is_triplet(&text[offset..]),
            '"' | '<' | '>' | '\\' | '^' | '`' | '|' => false,
            _ => !character.is_control() && !character.is_whitespace(),
        };
        if !legal {
            return Err(TemplateError::new(
                at + offset,
                format!("{character:?} is not allowed in a URI: percent-encode it"),
            ));
        }
    }
    Ok(())
}

fn expression(text: &str, at: usize) -> Result<(Operator, Vec<Variable>), TemplateError> {
    let operator = match text.bytes().next() {
        Some(b'+') => Operator::Reserved,
        Some(b'#') => Operator::Fragment,
        Some(b'.') => Operator::Label,
        Some(b'/') => Operator::Path,
        Some(b';') => Operator::Parameter,
        Some(b'?') => Operator::Query,
        Some(b'&') => Operator::Continuation,
        Some(sign @ (b'=' | b',' | b'!' | b'@' | b'|')) => {
            let problem = format!(
                "the operator {:?} is reserved: use one of + # . / ; ? & or none",
                char::from(sign)
            );
            return Err(TemplateError::new(at, problem));
        }
        _ => Operator::Simple,
    };
    let skip = usize::from(operator != Operator::Simple);
    let mut variables = Vec::new();
    let mut place = at + skip;
    for text in text[skip..].split(',') {
        variables.push(variable(text, place)?);
        place += text.len() + 1;
    }
    Ok((operator, variables))
}

fn variable(text: &str, at: usize) -> Result<Variable, TemplateError> {
    let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, length)) = text.split_once(':') {
        (name, Modifier::Prefix(prefix(length, at + name.len() + 1)?))
    } else {
        (text, Modifier::None)
    };
    if name.is_empty() {
        let problem = "a variable has no name: write a name between the braces";
        return Err(TemplateError::new(at, problem));
    }
    for (offset, character) in name.char_indices() {
        let rest = &name[offset..];
        let legal = match character {
            // A dot is allowed only between other characters.
            '.' => offset > 0 && rest.len() > 1 && !rest.starts_with(".."),
            '%' => is_triplet(rest),
            _ => character.is_ascii_alphanumeric() || character == '_',
        };
        if !legal {
            return Err(TemplateError::new(
                at + offset,
                format!(
                    "{character:?} is not allowed in a name: use A-Z a-z 0-9 _ and single dots"
                ),
            ));
        }
    }
    Ok(Variable {
        name: name.to_owned(),
        modifier,
    })
}

fn prefix(text: &str, at: usize) -> Result<usize, TemplateError> {
    let digits = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(length @ 1..10_000) if digits => Ok(length),
        _ => Err(TemplateError::new(
            at,
            "a prefix length must be a number from 1 to 9999",
        )),
    }
}
