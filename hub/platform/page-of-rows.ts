/**
 * One page of a list from the database, and the cursor of the next; null on the last page. It reads one row more than
 * the page holds, which shows whether there is another page.
 */
export async function pageOfRows<Row>(
  limit: number,
  read: (limit: number) => Promise<Row[]>,
  cursorOf: (last: Row) => string,
): Promise<{ page: Row[]; next_cursor: string | null }> {
  const rows = await read(limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, next_cursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
