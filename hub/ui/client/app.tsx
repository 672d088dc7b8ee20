import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { colors } from "./lib/colors.ts";
import { styleNonce } from "./lib/info.ts";
import { queryClient } from "./lib/query.ts";
import { Logins } from "./shell/logins.tsx";
import { Shell } from "./shell/shell.tsx";
import { cssVariables, theme } from "./theme.ts";

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={colors}
      getStyleNonce={styleNonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" limit={4} />
        <Logins />
        <Shell />
      </QueryClientProvider>
    </MantineProvider>
  );
}
