import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

type Board = Record<string, string[]>;
interface State {
  board: Board;
  moves: { card: string; to: string }[];
}

const WANTED: Board = {
  "To do": ["Order paint"],
  "In progress": ["Splice ropes", "Varnish deck"],
  Done: ["Check pumps", "Mend sails"],
};

/** A board whose cards move by being dragged, and where the server decides where they lie. */
export const dragAndDrop = task<State>({
  name: "drag-and-drop",
  goal:
    "On the board drag the card 'Mend sails' to the column Done and the card 'Varnish deck' to the column In progress. " +
    "Return the board as it is then: an object with the column names as keys and the titles of their cards, in order, as " +
    "arrays.",
  newState: () => ({
    board: {
      "To do": ["Mend sails", "Order paint", "Varnish deck"],
      "In progress": ["Splice ropes"],
      Done: ["Check pumps"],
    },
    moves: [],
  }),
  answer: async ({ state, method, path, request }) => {
    if (path === "moves" && method === "POST") {
      const move = (await request.json()) as { card: string; to: string };
      const column = state.board[move.to];
      if (!column) return Response.json({ error: "no such column" }, { status: 422 });
      state.moves.push(move);
      for (const [name, cards] of Object.entries(state.board))
        state.board[name] = cards.filter((card) => card !== move.card);
      state.board[move.to] = [...column.filter((card) => card !== move.card), move.card];
    }
    return Response.json({ board: state.board });
  },
  verify: ({ result, server_state: { board, moves } }) =>
    firstOf(
      moves.length >= 2 ? null : `${moves.length} cards were moved`,
      differs("the board", board, WANTED),
      differs("the result", result, WANTED),
    ),
});
