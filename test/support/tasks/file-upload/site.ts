import { differs, firstOf, referenceNumber } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  files: { name: string; text: string }[];
  published: string[];
}

const CSV = "name,age\nAda,36\nGrace,45\nEdsger,52\n";

/** A file goes up, is looked at by the server, and counts only once it is published. */
export const fileUpload = task<State>({
  name: "file-upload",
  goal:
    "Upload a file named people.csv with exactly these lines, each ended by a newline: 'name,age', 'Ada,36', 'Grace,45', " +
    "'Edsger,52'. When the page has checked it, publish it. Return {rows, receipt}: the number of rows that the page counted " +
    "(a number) and the receipt number it shows after publishing.",
  newState: () => ({ files: [], published: [] }),
  answer: async ({ state, method, path, request }) => {
    if (path === "files" && method === "POST") {
      const file = (await request.formData()).get("file");
      if (!(file instanceof File)) return Response.json({ error: "no file" }, { status: 400 });
      state.files.push({ name: file.name, text: await file.text() });
      return Response.json({ id: state.files.length - 1 });
    }
    const [, id, what] = /^files\/(\d+)\/(check|publish)$/.exec(path) ?? [];
    const file = state.files[Number(id)];
    if (!file) return Response.json({ error: "no such file" }, { status: 404 });
    if (what === "check") {
      const [head, ...rows] = file.text.trimEnd().split("\n");
      const problem = head === "name,age" ? null : "The first line must be name,age";
      return Response.json({ rows: rows.length, problem });
    }
    state.published.push(file.name);
    return Response.json({ receipt: referenceNumber("R", file) });
  },
  verify: ({ result, server_state: { files, published } }) =>
    firstOf(
      differs("the last file that came", files.at(-1), { name: "people.csv", text: CSV }),
      published.includes("people.csv") ? null : "people.csv was not published",
      differs("the result", result, {
        rows: 3,
        receipt: referenceNumber("R", { name: "people.csv", text: CSV }),
      }),
    ),
});
