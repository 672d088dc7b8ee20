import {
  ActionIcon,
  Anchor,
  Box,
  Burger,
  Button,
  Group,
  Kbd,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { spotlight } from "@mantine/spotlight";
import { IconBook, IconLogout, IconMoon, IconSearch, IconSun } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import { Link, useLocation } from "wouter";
import { logout } from "../lib/http.ts";
import { info } from "../lib/info.ts";
import { loginStore, type WhoIAm, whoAmI } from "../lib/logins.ts";
import { queryClient } from "../lib/query.ts";
import { guideFor } from "../pages.tsx";
import { ConnectionBadge } from "./connection.tsx";

function Leave({ who: { name, role } }: { who: WhoIAm }) {
  const label = role === "admin" && name === "admin" ? "Leave administrator" : "Log out";
  const leave = () => void logout().then(() => queryClient.invalidateQueries());
  return (
    <Tooltip label={role === null ? "Logged in with SVC_API_TOKEN" : `${name}, role ${role}`}>
      <Box>
        <Button size="xs" variant="light" visibleFrom="sm" onClick={leave}>
          {label}
        </Button>
        <ActionIcon variant="light" hiddenFrom="sm" aria-label={label} onClick={leave}>
          <IconLogout size={16} />
        </ActionIcon>
      </Box>
    </Tooltip>
  );
}

/** Link to the guide's page for this one; the server serves the guide, not the app. */
function Guide() {
  const [location] = useLocation();
  return (
    <Tooltip label="What the guide says about this page">
      <ActionIcon
        component="a"
        href={guideFor(location)}
        target="_blank"
        variant="default"
        aria-label="Guide"
      >
        <IconBook size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

export function Header({ opened, toggle }: { opened: boolean; toggle: () => void }) {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  const who = useSyncExternalStore(loginStore.subscribe, whoAmI);
  return (
    <Group h="100%" px="md" justify="space-between" wrap="nowrap">
      <Group gap="sm" wrap="nowrap">
        <Burger
          opened={opened}
          onClick={toggle}
          hiddenFrom="md"
          size="sm"
          aria-label="Navigation"
        />
        <Anchor component={Link} href="/" underline="never" c="inherit" fw={700} size="lg">
          Flotilla
        </Anchor>
        <Text size="xs" c="dimmed" visibleFrom="sm">
          {info.version} {info.mode}
        </Text>
      </Group>
      <Group gap="xs" wrap="nowrap">
        <Button
          variant="default"
          size="xs"
          leftSection={<IconSearch size={14} />}
          rightSection={<Kbd size="xs">Ctrl K</Kbd>}
          onClick={spotlight.open}
          visibleFrom="sm"
        >
          Go to
        </Button>
        <ActionIcon variant="default" hiddenFrom="sm" aria-label="Go to" onClick={spotlight.open}>
          <IconSearch size={16} />
        </ActionIcon>
        {who?.kind === "session" && <Leave who={who} />}
        <ConnectionBadge />
        <Guide />
        <ActionIcon
          variant="default"
          aria-label={dark ? "Light colours" : "Dark colours"}
          onClick={() => setColorScheme(dark ? "light" : "dark")}
        >
          {dark ? <IconSun size={16} /> : <IconMoon size={16} />}
        </ActionIcon>
      </Group>
    </Group>
  );
}
