import { useMediaQuery } from "@mantine/hooks";

/** Whether the window has room for a detail beside its list. */
export const useBesideRoom = (): boolean =>
  useMediaQuery("(min-width: 1100px)", true, { getInitialValueInEffect: false });
