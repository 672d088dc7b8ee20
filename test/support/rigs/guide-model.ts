import { type LlmRequest, type LlmServer, startLlmServer } from "../servers/llm-server.ts";

/** The model of the guide's page about scripts: its first script is wrong, and it learns from the judge. */
export const startGuideModel = (): Promise<LlmServer> =>
  startLlmServer({ handler: (request) => ({ kind: "answer", text: answerTo(request) }) });

const WRONG = `import { session } from "flotilla";
const heading = await session.text("h2", { timeout_s: 2 });
export default { heading };`;
const RIGHT = `import { session } from "flotilla";
await session.wait("#data:has-text('product')");
const data = JSON.parse(await session.text("#data"));
export default { heading: await session.text("h1"), data };`;
const WITH_PICTURES = `${RIGHT.replace("data };", "data, pictures: await session.evaluate('document.images.length') };")}`;

/** What the request says, whoever of the two sides said it. */
function textOf({ body }: LlmRequest): string {
  const messages: { content: string | { text?: string }[] }[] = body.messages;
  return messages
    .flatMap(({ content }) =>
      typeof content === "string" ? [content] : content.map(({ text }) => text ?? ""),
    )
    .join("\n");
}

function answerTo(request: LlmRequest): string {
  const text = textOf(request);
  if (text.includes("You write one TypeScript script"))
    return `\`\`\`ts\n${scriptFor(text)}\n\`\`\``;
  if (text.includes("You judge whether")) return JSON.stringify(verdictOn(text));
  if (text.includes("You operate a web browser")) return JSON.stringify(nextMove(text));
  if (request.body.response_format !== undefined)
    return JSON.stringify({ stops: ["Lighthouse", "Market"] });
  return "To the Lighthouse and the Market.";
}

function scriptFor(text: string): string {
  if (text.includes("## Attempt 2")) return WITH_PICTURES;
  return text.includes("## Attempt 1") ? RIGHT : WRONG;
}

function verdictOn(text: string) {
  if (text.includes("no element matches h2"))
    return {
      ok: false,
      class: "script_error",
      reason: "the page has no h2",
      advice: "the heading is an h1; the data is in #data",
    };
  if (/# Goal\n.*pictures/.test(text) && !text.includes("document.images"))
    return {
      ok: false,
      class: "wrong_result",
      reason: "the number of pictures is missing",
      advice: "count the pictures of the page, too",
    };
  return {
    ok: true,
    class: "success",
    reason: "the result is what the page shows",
    advice: "",
  };
}

function nextMove(text: string) {
  if (/^title: "Market/m.test(text))
    return {
      thought: "this is the Market",
      action: "done",
      answer: "to the Lighthouse, the Mill and the Bridge",
    };
  const ref = /link (e\d+) "Market"/.exec(text)?.[1];
  return { thought: "the Market is one of the stops", action: "click", ref };
}
