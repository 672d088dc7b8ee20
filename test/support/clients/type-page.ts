import { createQueue, type Queue } from "../models/queue.ts";

/** A page to be clicked and typed at, which tells what reached it. */
export interface TypePage {
  url: string;
  /** `click x,y`, `value text`, `size WxH`, `wheel`. */
  events: Queue<string>;
  stop(): Promise<void>;
}

const HTML = `<!doctype html><meta charset="utf-8"><title>Type here</title>
<style>
  body { margin: 0; font: 20px sans-serif; background: #fff7d6; height: 3000px }
  h1 { position: absolute; left: 40px; top: 20px; margin: 0 }
  textarea { position: absolute; left: 40px; top: 100px; width: 600px; height: 120px; font: 32px monospace }
  button { position: absolute; left: 40px; top: 260px; width: 300px; height: 80px; font: 28px sans-serif }
</style>
<h1>Type here</h1><textarea autofocus></textarea><button>Press</button>
<script>
  const tell = (text) => fetch("/told", { method: "POST", body: text });
  const field = document.querySelector("textarea");
  field.addEventListener("input", () => tell("value " + field.value));
  document.querySelector("button").addEventListener("click", () => tell("pressed"));
  addEventListener("wheel", () => tell("wheel"), { once: true });
  addEventListener("resize", () => tell("size " + innerWidth + "x" + innerHeight));
  tell("loaded");
</script>`;

export function startTypePage(): TypePage {
  const events = createQueue<string>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      if (request.method === "POST") {
        events.push(await request.text());
        return new Response(null, { status: 204 });
      }
      return new Response(HTML, { headers: { "Content-Type": "text/html; charset=utf-8" } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/`,
    events,
    stop: () => server.stop(true),
  };
}
