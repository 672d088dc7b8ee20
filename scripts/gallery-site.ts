/**
 * Pages as a team has them in its browsers, for the screenshots of the README and the guide: a shop, a timetable, and a
 * newspaper. Their letters are large, because a picture of the wall shows them small.
 */

const STYLE = `
  body { margin: 0; font: 34px/1.4 "DejaVu Sans", sans-serif; color: #1b2733; background: #f6f7f9; }
  header { padding: 28px 48px; font-size: 46px; font-weight: bold; color: #fff; background: var(--ink); }
  main { padding: 40px 48px; }
  .grid { display: grid; grid-template-columns: repeat(3, 1fr); gap: 32px; }
  .card { background: #fff; border-radius: 14px; overflow: hidden; box-shadow: 0 2px 10px #0002; }
  .card div { height: 220px; }
  .card p { margin: 20px 24px; }
  table { width: 100%; border-collapse: collapse; background: #fff; font-size: 40px; }
  td, th { padding: 22px 28px; text-align: left; border-bottom: 2px solid #e3e7ec; }
  h1 { margin: 0 0 24px; font-size: 60px; line-height: 1.15; }
  .columns { columns: 2; column-gap: 56px; }
`;

const page = (title: string, ink: string, body: string) =>
  new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>` +
      `<style>${STYLE} :root { --ink: ${ink} }</style><header>${title}</header><main>${body}</main>`,
    { headers: { "content-type": "text/html; charset=utf-8" } },
  );

const GOODS = [
  ["Kettle", "12.90"],
  ["Lamp", "19.90"],
  ["Atlas", "26.90"],
  ["Scarf", "33.90"],
  ["Teapot", "40.90"],
  ["Stool", "47.90"],
] as const;

function shop(): Response {
  const cards = GOODS.map(([name, price], i) => {
    const picture = `linear-gradient(135deg, hsl(${i * 55} 55% 62%), hsl(${i * 55 + 45} 60% 45%))`;
    return `<div class="card"><div style="background: ${picture}"></div><p><b>${name}</b><br>€ ${price}</p></div>`;
  });
  return page("Harbour Store", "#12324f", `<div class="grid">${cards.join("")}</div>`);
}

const FERRIES = [
  ["08:05", "Göteborg", "2", "on time"],
  ["08:40", "Świnoujście", "5", "on time"],
  ["09:15", "Tórshavn", "1", "12 min late"],
  ["10:00", "Klaipėda", "4", "on time"],
  ["10:30", "Ålesund", "3", "boarding"],
] as const;

function timetable(): Response {
  const rows = FERRIES.map((cells) => `<tr><td>${cells.join("<td>")}`);
  const head = "<tr><th>Time<th>To<th>Pier<th>State";
  return page("Departures", "#0b5d53", `<table>${head}${rows.join("")}</table>`);
}

const NEWS = [
  "The lighthouse at the northern pier is lit again after a year of repairs. Its lamp can be seen from 24 miles away.",
  "Three ships of the summer fleet came in on Sunday, a week earlier than last year, and the cafés along the quay were full.",
  "The harbour's library lends out sea charts from today. The oldest of them is from 1791, and only a copy of it may be taken home.",
];

const newspaper = (): Response =>
  page(
    "The Quay Observer",
    "#5b2333",
    `<h1>Lighthouse shines again</h1><div class="columns">${NEWS.map((text) => `<p>${text}</p>`).join("")}</div>`,
  );

const PAGES: Record<string, () => Response> = {
  "/shop": shop,
  "/departures": timetable,
  "/news": newspaper,
};

/** Serves them on loopback; `at` gives the address of one. */
export function startGallerySite() {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      PAGES[new URL(request.url).pathname]?.() ?? new Response("no such page", { status: 404 }),
  });
  return {
    at: (name: "shop" | "departures" | "news") => `${server.url.origin}/${name}`,
    stop: () => server.stop(true),
  };
}
