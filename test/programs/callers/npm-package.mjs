import { createClient, FlotillaError } from "flotilla";

const { ADDRESS, TOKEN, TARGET } = process.env;
const { jobs, sessions, workloads, fleet } = createClient({ base_url: ADDRESS, token: TOKEN });

const slug = `npm-${"Bun" in globalThis ? "bun" : "node"}`;
const events = [];
const job = await jobs.run({ url: TARGET }, { onEvent: ({ type }) => events.push(type) });
const session = await sessions.open({ url: TARGET });
const clicked = await session.click({ selector: "#go" });
await session.close();
await workloads.create({ slug, executor_type: "fleet_fetch" });
const sent = await workloads.submit(slug, [{ pk: "1" }, { pk: "2" }]);
const counts = await workloads.queue(slug);
await workloads.delete(slug, { force: true });
const refused = await workloads.get(slug).catch((err) => err);
const nobody = createClient({ base_url: ADDRESS });
const stranger = await nobody.jobs.list().catch((err) => err);
const away = await createClient({ base_url: "http://127.0.0.1:9" })
  .fleet.health()
  .catch((err) => err);
console.log(
  JSON.stringify({
    health: (await fleet.health()).status,
    job: job.status,
    ended_with: events.at(-1),
    clicked: clicked.result,
    submitted: sent.submitted,
    pending: counts.pending,
    refused: refused instanceof FlotillaError && [refused.status, refused.detail],
    stranger: [stranger.status, stranger.message],
    away: [away.name, away.status],
  }),
);
