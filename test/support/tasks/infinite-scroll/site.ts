import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  /** Posts that were given out, at most. */
  reached: number;
}

const PER_LOAD = 15;
const AUTHORS = ["Mira", "Jonas", "Tove", "Amal", "Pieter"];
const TOPICS = ["tides", "knots", "gulls", "fog", "charts", "engines", "paint"];
const POSTS = Array.from({ length: 90 }, (_, i) => ({
  id: i + 1,
  author: AUTHORS[(i * i + 3 * i) % 5] ?? "",
  title: `On ${TOPICS[(i * 5) % 7]}, part ${Math.floor(i / 7) + 1}`,
}));
const WANTED = POSTS.filter(({ author }) => author === "Pieter").map(({ title }) => title);

/** A feed that grows when its end comes into view, and forgets what is far above. */
export const infiniteScroll = task<State>({
  name: "infinite-scroll",
  goal:
    "Scroll through the whole feed until it says that there are no more posts. Return {titles}: the titles of all posts " +
    "written by Pieter, from the top of the feed to its end.",
  newState: () => ({ reached: 0 }),
  answer: ({ state, query }) => {
    const after = Number(query.get("after") ?? 0);
    const posts = POSTS.slice(after, after + PER_LOAD);
    state.reached = Math.max(state.reached, after + posts.length);
    return Response.json({ posts, more: after + PER_LOAD < POSTS.length });
  },
  verify: ({ result, server_state }) =>
    firstOf(
      differs("the last post that was loaded", server_state.reached, POSTS.length),
      differs("the result", result, { titles: WANTED }),
    ),
});
