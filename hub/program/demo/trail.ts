/** A few pages that lead to each other, so that a first crawl has something to find. */

const STOPS = [
  "Harbour",
  "Lighthouse",
  "Market",
  "Mill",
  "Bridge",
  "Observatory",
  "Quarry",
  "Spring",
];

const hrefOf = (stop: string): string => (stop === STOPS[0] ? "./" : `${stop.toLowerCase()}.html`);

/** Each stop leads to the one before it and the next two. */
function pageOf(stop: string, at: number): string {
  const near = [at - 1, at + 1, at + 2].flatMap((i) => STOPS[i] ?? []);
  const links = near.map((one) => `<li><a href="${hrefOf(one)}">${one}</a></li>`).join("\n");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${stop}, stop ${at + 1} of ${STOPS.length}</title>
<link rel="icon" href="../icon.svg">
<link rel="stylesheet" href="../style.css">
<h1>${stop}</h1>
<img src="../waves.svg" alt="waves" width="240" height="160">
<p>From here the trail leads to:</p>
<ul>
${links}
</ul>
</html>
`;
}

/** The pages by their names below the trail's folder; its first stop is the folder itself. */
export const TRAIL: ReadonlyMap<string, string> = new Map(
  STOPS.map((stop, at) => [at === 0 ? "" : hrefOf(stop), pageOf(stop, at)]),
);
