import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  clicks: number;
  hit: string[];
}

const CIRCLES = [
  { colour: "green", x: 90, y: 80, r: 34 },
  { colour: "red", x: 410, y: 250, r: 30 },
  { colour: "orange", x: 250, y: 170, r: 40 },
  { colour: "blue", x: 520, y: 90, r: 28 },
  { colour: "grey", x: 130, y: 280, r: 36 },
];
const ORDER = ["red", "blue", "green"];
const WORD = "meridian";

/** Buoys that are nothing but pixels; a wrong click starts the round again. */
export const canvasClick = task<State>({
  name: "canvas-click",
  goal:
    "The picture shows five buoys as coloured circles. Click the red one, then the blue one, then the green one. Return " +
    "{word}: the word that the page shows when that is done.",
  newState: () => ({ clicks: 0, hit: [] }),
  answer: async ({ state, method, path, request }) => {
    if (path === "buoys") return Response.json({ circles: CIRCLES });
    if (path !== "click" || method !== "POST") return new Response(null, { status: 404 });
    const { x, y } = (await request.json()) as { x: number; y: number };
    const circle = CIRCLES.find((one) => Math.hypot(one.x - x, one.y - y) <= one.r);
    state.clicks += 1;
    const right = circle?.colour === ORDER[state.hit.length];
    state.hit = right && circle ? [...state.hit, circle.colour] : [];
    return Response.json({
      right,
      left: ORDER.length - state.hit.length,
      word: state.hit.length === ORDER.length ? WORD : null,
    });
  },
  verify: ({ result, server_state: { hit } }) =>
    firstOf(
      differs("the buoys that were clicked", hit, ORDER),
      differs("the result", result, { word: WORD }),
    ),
});
