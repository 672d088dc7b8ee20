import { differs, firstOf, referenceNumber } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  months: string[];
  booking: unknown;
}

const WANTED = { out: "2027-03-14", back: "2027-04-02", passengers: 2 };
const daysIn = (month: string): number => {
  const [year = 0, of = 0] = month.split("-").map(Number);
  return new Date(Date.UTC(year, of, 0)).getUTCDate();
};
/** No ferry on every fifth day, by the number of the day. */
const sails = (day: number): boolean => day % 5 !== 0;

/** A ferry is booked with a calendar that shows one month at a time; the fields themselves take no typing. */
export const datePicker = task<State>({
  name: "date-picker",
  goal:
    "Book the ferry with the calendar: out on 14 March 2027, back on 2 April 2027, for 2 passengers. Return {reference}: the " +
    "booking reference that the page shows.",
  newState: () => ({ months: [], booking: null }),
  answer: async ({ state, method, path, request }) => {
    if (path === "bookings" && method === "POST") {
      state.booking = await request.json();
      return Response.json({ reference: referenceNumber("F", state.booking) });
    }
    const month = /^months\/(20\d\d-\d\d)$/.exec(path)?.[1];
    if (month === undefined) return Response.json({ error: "no such month" }, { status: 404 });
    state.months.push(month);
    const days = Array.from({ length: daysIn(month) }, (_, i) => ({
      day: i + 1,
      sails: sails(i + 1),
    }));
    return Response.json({ month, days });
  },
  verify: ({ result, server_state: { booking } }) =>
    firstOf(
      differs("the booking", booking, WANTED),
      differs("the result", result, { reference: referenceNumber("F", WANTED) }),
    ),
});
