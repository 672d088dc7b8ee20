import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  form_token: string;
  failed_logins: number;
  logged_in: boolean;
  /** Times each export was asked about before it is ready. */
  exports: Map<string, number>;
  downloaded: string[];
}

const USER = "ada";
const PASSWORD = "tide-lantern-42";
const MARCH =
  "day,customer,amount\n2026-03-02,Ostra,120.50\n2026-03-11,Lind,80.25\n2026-03-29,Ostra,310.00\n";
/** Polls until an export is ready. */
const POLLS = 3;

const refused = (status: number, error: string): Response => Response.json({ error }, { status });

/** Reports behind a login; an export is prepared first and then comes as an attachment. */
export const loginDownload = task<State>({
  name: "login-download",
  goal:
    `Log in with user "${USER}" and password "${PASSWORD}". Among the reports find the one of March 2026, export it as CSV ` +
    "and wait until it can be downloaded. Download it, store its content as the asset march.csv, and return {total}: the sum " +
    "of the column amount.",
  newState: () => ({
    form_token: crypto.randomUUID(),
    failed_logins: 0,
    logged_in: false,
    exports: new Map(),
    downloaded: [],
  }),
  answer: async ({ state, method, path, request }) => {
    if (path === "me")
      return Response.json({ user: state.logged_in ? USER : null, form_token: state.form_token });
    if (path === "login" && method === "POST") {
      const given = (await request.json()) as Record<string, unknown>;
      const right =
        given.user === USER && given.password === PASSWORD && given.token === state.form_token;
      if (right) state.logged_in = true;
      else state.failed_logins += 1;
      return right ? Response.json({ user: USER }) : refused(401, "Unknown user or password");
    }
    if (!state.logged_in) return refused(401, "Log in first");
    const [, month, file] = /^reports\/(\d{4}-\d{2})(\.csv)?$/.exec(path) ?? [];
    if (month === undefined) return Response.json({ months: ["2026-04", "2026-03", "2026-02"] });
    if (method === "POST") state.exports.set(month, 0);
    const polls = state.exports.get(month);
    if (polls === undefined) return refused(409, "Export it first");
    if (file === undefined) {
      state.exports.set(month, polls + 1);
      return Response.json({ ready: polls >= POLLS });
    }
    if (polls < POLLS) return refused(409, "Not ready yet");
    state.downloaded.push(month);
    return new Response(month === "2026-03" ? MARCH : "day,customer,amount\n", {
      headers: {
        "content-type": "text/csv",
        "content-disposition": `attachment; filename="report-${month}.csv"`,
      },
    });
  },
  verify: async ({ result, assets, server_state }) =>
    firstOf(
      differs("the login", server_state.logged_in, true),
      differs("the downloads", [...new Set(server_state.downloaded)], ["2026-03"]),
      differs("the result", result, { total: 510.75 }),
      differs("march.csv", await assets.find(({ name }) => name === "march.csv")?.read(), MARCH),
    ),
});
