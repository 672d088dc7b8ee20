import { ActionIcon, Kbd } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useMemo } from "react";
import { Link, Redirect, Route, Switch, useLocation, useSearch } from "wouter";
import { movedTo } from "../../moved.ts";
import { openFind } from "../lib/find.ts";
import { useRoom } from "../lib/width.ts";
import { guideFor, HOME, PAGES, pageAt } from "../pages.tsx";
import { AroundPage } from "../parts/around.ts";
import { HubBanner } from "../parts/hub-banner.tsx";
import { Empty } from "../parts/states.tsx";
import { BottomBar } from "./bottom-bar.tsx";
import { Boundary } from "./boundary.tsx";
import { ConnectionBar } from "./connection.tsx";
import { Foot } from "./foot.tsx";
import { Keys } from "./keys.tsx";
import { LazyPage } from "./lazy-page.tsx";
import { Mark } from "./mark.tsx";
import { Navigation, placePath, SubPages, useHere } from "./navigation.tsx";
import { Palette } from "./palette.tsx";

/** An address of before, one that names a place and no page, or one that is none. */
function NoSuchPage() {
  const [location] = useLocation();
  const search = useSearch();
  const to = movedTo(location, search === "" ? "" : `?${search}`) ?? placePath(location);
  if (to !== undefined && pageAt(to.split("?")[0] ?? "")) return <Redirect to={to} replace />;
  return <Empty title="There is no such page">Use the navigation or Ctrl K to find a page.</Empty>;
}

/** The pages of the place, where there is no side bar that shows them. */
function Pages() {
  const { pages, under, path } = useHere();
  if (pages.length < 2 || under?.path !== path) return null;
  return (
    <nav className="page-subs page-tabs" aria-label="Pages of this place">
      <SubPages className="page-tab" />
    </nav>
  );
}

const HomeMark = () => (
  <Link className="page-mark" href={HOME} aria-label="Flotilla">
    <Mark />
  </Link>
);

const FindButton = () => (
  <ActionIcon size="lg" variant="subtle" color="gray" aria-label="Find or do" onClick={openFind}>
    <IconSearch size={18} stroke={1.75} />
  </ActionIcon>
);

function SideBar() {
  return (
    <div className="side">
      <Link className="brand" href={HOME} aria-label="Flotilla">
        <Mark />
        <span className="brand-name">Flotilla</span>
      </Link>
      <button type="button" className="find" title="Find or do" onClick={openFind}>
        <IconSearch size={14} stroke={1.75} aria-hidden />
        <span className="find-words">Find or do</span>
        <Kbd>Ctrl K</Kbd>
      </button>
      <Navigation />
      <Foot />
    </div>
  );
}

/** What surrounds every page. */
export function Shell() {
  const [location] = useLocation();
  const room = useRoom();
  const around = useMemo(
    () => ({
      guide: guideFor(location),
      home: room === "phone" && <HomeMark />,
      find: room === "phone" && <FindButton />,
      pages: room !== "full" && <Pages />,
    }),
    [location, room],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page begins at its top
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [location]);
  return (
    <div className="app" data-wide={room === "rail" || pageAt(location)?.wide || undefined}>
      <a className="skip" href="#main">
        To the page
      </a>
      {room !== "phone" && <SideBar />}
      <main id="main" className="main">
        <HubBanner />
        <AroundPage value={around}>
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
        </AroundPage>
      </main>
      {room === "phone" && <BottomBar />}
      <ConnectionBar />
      <Palette />
      <Keys />
    </div>
  );
}
