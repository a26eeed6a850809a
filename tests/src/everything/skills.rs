//! The skills of the fixture: one with a folder, and one without.

use mcp_skills::{Skill, Skills};

const REVIEW: &str = "\
---
name: review
description: Reviews a change of code
metadata:
  com.example/version: \"1\"
---

Go through references/checklist.md, and report what is missing.
";

const GREET: &str = "\
---
name: greet
description: Greets a new user
---

Say hello.
";

pub(super) fn all() -> Skills {
    let review = Skill::from_files(
        "code/review",
        [
            ("SKILL.md", REVIEW),
            ("references/checklist.md", "1. Is there a test?\n"),
        ],
    );
    let greet = Skill::from_files("greet", [("SKILL.md", GREET)]);
    let skills = [review, greet].into_iter().flatten();
    skills.fold(Skills::new(), Skills::skill)
}
