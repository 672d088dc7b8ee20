import { AppShell } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useEffect } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { HOME, PAGES } from "../pages.tsx";
import { HubBanner } from "../parts/hub-banner.tsx";
import { Empty } from "../parts/states.tsx";
import { Boundary } from "./boundary.tsx";
import { ConnectionBar } from "./connection.tsx";
import { Header } from "./header.tsx";
import { Keys } from "./keys.tsx";
import { LazyPage } from "./lazy-page.tsx";
import { Navigation } from "./navigation.tsx";
import { Palette } from "./palette.tsx";

function NoSuchPage() {
  return (
    <Empty title="There is no such page">The navigation and Ctrl K lead to those that exist.</Empty>
  );
}

/** What surrounds every page. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure(false);
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page begins at its top
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [location]);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 216, breakpoint: "md", collapsed: { mobile: !opened } }}
      padding="md"
    >
      <a className="skip" href="#main">
        To the page
      </a>
      <AppShell.Header>
        <Header opened={opened} toggle={toggle} />
      </AppShell.Header>
      <AppShell.Navbar component="div">
        <Navigation onGo={close} />
      </AppShell.Navbar>
      <AppShell.Main id="main">
        <HubBanner />
        <Boundary key={location}>
          <Switch>
            <Route path="/">
              <Redirect to={HOME} replace />
            </Route>
            {PAGES.map(({ path, file }) => (
              <Route key={path} path={path}>
                {(params) => <LazyPage file={file} params={params as Record<string, string>} />}
              </Route>
            ))}
            <Route>
              <NoSuchPage />
            </Route>
          </Switch>
        </Boundary>
      </AppShell.Main>
      <ConnectionBar />
      <Palette />
      <Keys />
    </AppShell>
  );
}
