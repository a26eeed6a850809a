//! The skills of the fixture: one with a folder, and one without. Servers of other projects have the same in
//! `cargo xtask interop`.

use mcp_skills::{Skill, Skills};

const REVIEW: &str = include_str!("../../interop/skills/code/review/SKILL.md");
const CHECKLIST: &str = include_str!("../../interop/skills/code/review/references/checklist.md");
const GREET: &str = include_str!("../../interop/skills/greet/SKILL.md");

pub(super) fn all() -> Skills {
    let review = [("SKILL.md", REVIEW), ("references/checklist.md", CHECKLIST)];
    let review = Skill::from_files("code/review", review);
    let greet = Skill::from_files("greet", [("SKILL.md", GREET)]);
    let skills = [review, greet].into_iter().flatten();
    skills.fold(Skills::new(), Skills::skill)
}
