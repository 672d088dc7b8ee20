import { NavLink, Stack, Text } from "@mantine/core";
import { Link, useLocation } from "wouter";
import { HOME, loadPage, PAGES } from "../pages.tsx";

const PARTS = [
  { part: "fleet", title: "Fleet" },
  { part: "pipeline", title: "Pipeline" },
] as const;

export function Navigation({ onGo }: { onGo: () => void }) {
  const [location] = useLocation();
  const here = location === "/" ? HOME : location;
  return (
    <div className="nav-pages">
      <Stack gap={2} py="sm" component="nav" aria-label="Pages">
        {PARTS.map(({ part, title }) => {
          const pages = PAGES.filter((page) => page.part === part && page.nav);
          if (pages.length === 0) return null;
          return (
            <Stack key={part} gap={2} mb="sm">
              <Text size="xs" fw={700} c="dimmed" tt="uppercase" className="nav-label">
                {title}
              </Text>
              {pages.map(({ path, title: name, nav }) => (
                <NavLink
                  key={path}
                  component={Link}
                  href={path}
                  label={name}
                  leftSection={nav && <nav.icon size={18} stroke={1.6} />}
                  active={here === path || here.startsWith(`${path}/`)}
                  aria-current={here === path ? "page" : undefined}
                  onClick={onGo}
                  onPointerEnter={() => void loadPage(path).catch(() => {})}
                  py={4}
                />
              ))}
            </Stack>
          );
        })}
      </Stack>
    </div>
  );
}
