import { spotlight } from "@mantine/spotlight";

/** Opens what Ctrl K opens. */
export const openFind = (): void => spotlight.open();
