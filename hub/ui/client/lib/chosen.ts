import { useBesideRoom } from "../parts/beside/use-beside-room.ts";
import { useFilters } from "./filters.ts";

/** What of a list is shown beside it: `?show=` of the address. */
export function useChosen() {
  const [{ show }, set] = useFilters({ show: "" });
  return {
    chosen: show,
    choose: (key: string) => set({ show: key }, { push: true }),
    close: () => set({ show: "" }),
  };
}

/** The same of things with a page of their own: where there is no room beside the list, a row leads to its page. */
export function usePeek() {
  const { chosen, choose, close } = useChosen();
  const roomy = useBesideRoom();
  return { chosen, choose: roomy ? choose : undefined, close };
}
