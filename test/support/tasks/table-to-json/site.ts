import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  read: boolean;
}

type Row = [quarter: string, visitors: string, change: string];
const REGIONS: { region: string; rows: Row[] }[] = [
  {
    region: "North coast",
    rows: [
      ["Q1", "12,480", "+3.5 %"],
      ["Q2", "31,055", "−1.2 %"],
      ["Q3", "58,900*", "+7.0 %"],
    ],
  },
  {
    region: "Islands",
    rows: [
      ["Q2", "9,310", "–"],
      ["Q3", "22,765", "+12.4 %"],
    ],
  },
  {
    region: "Old harbour",
    rows: [
      ["Q1", "7,002", "−0.4 %"],
      ["Q2", "15,840", "+2.1 %"],
      ["Q3", "n/a", "–"],
    ],
  },
];
const WANTED = [
  { region: "North coast", quarter: "Q1", visitors: 12480, change: 3.5 },
  { region: "North coast", quarter: "Q2", visitors: 31055, change: -1.2 },
  { region: "North coast", quarter: "Q3", visitors: 58900, change: 7 },
  { region: "Islands", quarter: "Q2", visitors: 9310, change: null },
  { region: "Islands", quarter: "Q3", visitors: 22765, change: 12.4 },
  { region: "Old harbour", quarter: "Q1", visitors: 7002, change: -0.4 },
  { region: "Old harbour", quarter: "Q2", visitors: 15840, change: 2.1 },
  { region: "Old harbour", quarter: "Q3", visitors: null, change: null },
];

/** A table as people make them: cells over several rows, footnotes, thousands, signs, and rows that are sums. */
export const tableToJson = task<State>({
  name: "table-to-json",
  goal:
    "Turn the table of visitors into JSON: an array with one object per region and quarter, in the order shown, without the " +
    "rows of totals: {region, quarter, visitors, change}. visitors and change are numbers (change in per cent, without the " +
    "sign %), and null where the table has none.",
  newState: () => ({ read: false }),
  answer: ({ state }) => {
    state.read = true;
    return Response.json({ regions: REGIONS });
  },
  verify: ({ result, server_state }) =>
    firstOf(
      differs("the table's being loaded", server_state.read, true),
      differs("the result", result, WANTED),
    ),
});
