/** Profiles CSV texts: their columns, with types and how full they are. */

interface Task {
  pk: string;
  extra: { csv?: unknown } | null;
}
interface Context {
  state: { set(key: string, value: unknown): Promise<void> };
  blob: { set(key: string, body: string, type: string): Promise<void> };
}
interface Column {
  name: string;
  type: "empty" | "number" | "date" | "text";
  filled: number;
  distinct: number;
  min: string | number | null;
  max: string | number | null;
}

/** Rows of fields; quoted fields may hold separators, line ends and doubled quotes (RFC 4180). */
function parseCsv(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let quoted = false;
  const endField = () => {
    row.push(field);
    field = "";
  };
  const endRow = () => {
    endField();
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (quoted && char === '"' && text[at + 1] === '"') {
      field += '"';
      at += 1;
    } else if (char === '"') quoted = !quoted;
    else if (quoted) field += char;
    else if (char === separator) endField();
    else if (char === "\n") endRow();
    else if (char !== "\r") field += char;
  }
  if (field !== "" || row.length > 0) endRow();
  return rows;
}

const isNumber = (value: string) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value);
const isDate = (value: string) =>
  /^\d{4}-\d{2}-\d{2}/.test(value) && !Number.isNaN(Date.parse(value));

function profileColumn(name: string, all: string[]): Column {
  const values = all.map((value) => value.trim()).filter((value) => value !== "");
  const distinct = new Set(values).size;
  const base = { name, filled: values.length, distinct };
  if (values.length === 0) return { ...base, type: "empty", min: null, max: null };
  if (values.every(isNumber)) {
    const numbers = values.map(Number).sort((a, b) => a - b);
    return { ...base, type: "number", min: numbers[0] ?? null, max: numbers.at(-1) ?? null };
  }
  const sorted = [...values].sort();
  const [min = null, max = null] = [sorted[0], sorted.at(-1)];
  return { ...base, type: values.every(isDate) ? "date" : "text", min, max };
}

const escapeXml = (text: string) =>
  text.replace(/[<>&"]/g, (char) => `&#${char.charCodeAt(0)};`).slice(0, 200);

/** How full each column is, as bars. */
function draw(pk: string, rows: number, columns: Column[]): string {
  const lines = columns.slice(0, 40).map(({ name, type, filled }, i) => {
    const y = 44 + 26 * i;
    const width = rows === 0 ? 0 : Math.round((300 * filled) / rows);
    return (
      `<text x="152" y="${y + 13}" text-anchor="end">${escapeXml(name.slice(0, 20))}</text>` +
      `<rect x="162" y="${y}" width="300" height="16" rx="3" fill="#d8e2ea"/>` +
      `<rect x="162" y="${y}" width="${width}" height="16" rx="3"/>` +
      `<text x="472" y="${y + 13}">${type}</text>`
    );
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 ${60 + 26 * lines.length}" font-family="sans-serif" ` +
    `font-size="13" fill="#2b5f8a"><text x="12" y="24" font-size="15">${escapeXml(pk)}: ${rows} rows</text>` +
    `${lines.join("")}</svg>`
  );
}

export function createPlugin({ separator = "," }: { separator?: string }) {
  return {
    run: async ({ pk, extra }: Task, ctx: Context) => {
      const [header = [], ...rows] = parseCsv(String(extra?.csv ?? ""), separator);
      const columns = header.map((name, i) =>
        profileColumn(
          name,
          rows.map((row) => row[i] ?? ""),
        ),
      );
      const profile = { rows: rows.length, columns };
      await ctx.state.set(`profiles/${pk}`, profile);
      await ctx.blob.set("last.svg", draw(pk, rows.length, columns), "image/svg+xml");
      return profile;
    },
  };
}

/** For the program that installs this example: it imports the file as text. */
// biome-ignore lint/style/noDefaultExport: the type of a text import is its default export
export default createPlugin as unknown;
