//! Text of `loci project`: projects with their folders, newest first.
//!
//! Does not know how folders are joined to projects.

use crate::Render;
use crate::format::{count_of, count_of_total};
use crate::options::{RenderOptions, Style};
use api::project::{Project, ProjectNamed, ProjectsListed};
use api::terminal_text::{append_fmt, one_line};

impl Render for ProjectsListed {
    fn render(&self, options: &RenderOptions) -> String {
        if self.projects.is_empty() {
            return "no projects\n".to_string();
        }
        let mut out: String = self.projects.iter().map(|project| render_project(project, options)).collect();
        let shown = self.projects.len() as u64;
        if self.total > shown {
            append_fmt(&mut out, format_args!("\n{}\n", count_of_total(shown, self.total, "project")));
        }
        out
    }
}

fn render_project(project: &Project, options: &RenderOptions) -> String {
    let facts = [
        options.format_when(project.last_at),
        count_of(project.sessions, "session"),
        project.remote.as_deref().map_or(String::new(), one_line),
    ];
    let mut out = format!(
        "{}\n  {}\n",
        options.paint(Style::Bold, &one_line(&project.name)),
        options.join_facts(&facts)
    );
    for folder in &project.folders {
        let gone = if folder.exists { "" } else { "  (not there any more)" };
        let line = format!("{}{gone}", options.display_path(&folder.path));
        append_fmt(&mut out, format_args!("  {}\n", options.paint(Style::Dim, &line)));
    }
    out
}

impl Render for ProjectNamed {
    fn render(&self, options: &RenderOptions) -> String {
        if self.folders.is_empty() {
            return format!("the name {} was removed\n", one_line(&self.name));
        }
        let folders: Vec<String> = self.folders.iter().map(|folder| options.display_path(folder)).collect();
        format!("{}: {}\n", options.paint(Style::Bold, &one_line(&self.name)), folders.join(", "))
    }
}
