//! Which calls touched a file.
//!
//! Does not know what they did to it.

use crate::describe::quote_sql;
use crate::reader::with_file;
use crate::rows::{self, EVENT_COLUMNS};
use crate::{Error, Reader};
use record::Row;

impl Reader {
    /// The latest calls that touched a file, under any of these paths, newest first.
    pub fn calls_on_file(&self, paths: &[String], most: u32) -> Result<Vec<Row>, Error> {
        let named: Vec<String> = paths.iter().map(|path| quote_sql(path)).collect();
        let sql = format!(
            "select {EVENT_COLUMNS} from events where id in (select event from touched where path in \
             (select id from paths where path in ({}))) order by at desc, id desc limit ?1",
            named.join(", ")
        );
        let found = self.query_all(&sql, [most], rows::read_row)?;
        Ok(found.iter().map(with_file).collect())
    }

    /// The calls on files whose paths are meant, in the order of the transcripts.
    pub fn calls_on_paths(&self, is_meant: &dyn Fn(&str) -> bool) -> Result<Vec<Row>, Error> {
        let read = |row: &db::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        let known = self.query_all("select id, path from paths", [], read)?;
        let meant = known.iter().filter(|(_, path)| is_meant(path));
        let meant: Vec<String> = meant.map(|(id, _)| id.to_string()).collect();
        let sql = format!(
            "select {EVENT_COLUMNS} from events where id in (select event from touched where path in ({})) order by id",
            meant.join(", ")
        );
        let found = self.query_all(&sql, [], rows::read_row)?;
        Ok(found.iter().map(with_file).collect())
    }

    /// The calls of some tools, by their IDs in the table of names, in some transcripts.
    pub fn for_each_call_of(
        &self,
        files: &[u32],
        tools: &[u32],
        mut each: impl FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let named: Vec<String> = tools.iter().map(u32::to_string).collect();
        let names = named.join(", ");
        self.for_each_row_where(files, &format!(" and what & 3 != 0 and name in ({names})"), &mut each)
    }

    /// The ID of a session and the turns that were abandoned, by its transcript and its place in there.
    pub fn session_at(&self, file: u32, ordinal: u32) -> Result<Option<(String, Vec<u32>)>, Error> {
        let sql = "select c.session_id, f.abandoned from sessions s join chats c on c.id = s.chat join files f on f.id = s.file \
                   where s.file = ?1 and s.ordinal = ?2";
        let found = self.query_all(sql, [file, ordinal], |row| {
            let abandoned: String = row.get(1)?;
            Ok((row.get(0)?, abandoned.split(' ').filter_map(|n| n.parse().ok()).collect()))
        })?;
        Ok(found.into_iter().next())
    }
}
