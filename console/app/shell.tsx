import CloudOff from "icon:cloud-off";
import Inbox from "icon:inbox";
import Keyboard from "icon:keyboard";
import Languages from "icon:languages";
import MoonStar from "icon:moon-star";
import PanelLeft from "icon:panel-left";
import Search from "icon:search";
import SquarePen from "icon:square-pen";
import { useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { Caller } from "../api/shapes.ts";
import { useApprovals } from "../api/approvals.ts";
import { useConnection } from "../api/live/feed.ts";
import { ThreadList } from "../pages/threads/thread-list.tsx";
import { IconButton } from "../parts/button.tsx";
import { loadable } from "../parts/loadable.ts";
import { languages, switchLanguage } from "../text/language.ts";
import { AppMenu } from "./app-menu.tsx";
import { useCommands, type Command } from "./commands.ts";
import { useKeys } from "./keys.ts";
import { KeysDialog } from "./keys-dialog.tsx";
import { useNews, useSpokenQuestions } from "./news.ts";
import { places, placesOf, widePlace } from "./places.tsx";
import { setPreferences, usePreferences } from "./kept/preferences.ts";

const lazyPalette = loadable(() => import("./palette.tsx"));

/** What stands around every place: the rail, the list of threads, the palette. */
export function Shell({ caller, children }: { caller: Caller | undefined; children: ReactNode }) {
  const { t } = useTranslation();
  const [location, navigate] = useLocation();
  const preferred = usePreferences().listShown;
  // Pages for runs and graphs need the width; the list comes over them when it is asked for.
  const isBesideList = !widePlace.test(location);
  const listShown = preferred && isBesideList;
  // It closes with the choice of another place.
  const [listOverAt, setListOverAt] = useState<string>();
  const isListOver = listOverAt === location;
  const [open, setOpen] = useState<"palette" | "keys">();
  const approvals = useApprovals().data;
  const waiting = approvals?.length ?? 0;
  const palette = lazyPalette.useModule(open === "palette");
  useNews(waiting);
  useSpokenQuestions(approvals);
  useKeys();
  useShellCommands(caller, navigate, setOpen);
  const toggleList = () => {
    if (!isBesideList || matchMedia("(width < 1000px)").matches) setListOverAt(isListOver ? undefined : location);
    else setPreferences({ listShown: !listShown });
  };
  return (
    <div className="shell" data-list={listShown ? "shown" : "hidden"} data-list-over={isListOver || undefined}>
      <a
        className="skip-link"
        href="#main"
        onClick={(event) => {
          // What stands behind the # names a message or a part of a run.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        {t("app.skip")}
      </a>
      <nav className="rail" aria-label={t("app.name")}>
        <a className="rail-logo" href="/console/" aria-label={t("app.home")}>
          <img src="/console/icon.svg" width={28} height={28} alt="" />
        </a>
        {places
          .filter(({ isIn }) => isIn === "rail")
          .map(({ id, address, label, icon: Icon, isHere }) => (
            <a
              key={id}
              className="rail-item"
              href={`/console${address}`}
              aria-current={isHere(location) ? "page" : undefined}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey) return;
                event.preventDefault();
                navigate(address);
              }}
            >
              <Icon size={20} />
              <span>{t(label)}</span>
              {id === "inbox" && waiting > 0 && <b className="badge">{waiting}</b>}
            </a>
          ))}
        <button type="button" className="rail-item" onClick={() => setOpen("palette")}>
          <Search size={20} />
          <span>{t("app.search")}</span>
        </button>
        <div className="rail-space" />
        <ConnectionMark />
        <AppMenu caller={caller} onKeys={() => setOpen("keys")} />
      </nav>
      <aside className="list-pane" aria-label={t("threads.list")}>
        <header className="list-head">
          <h2>{t("threads.list")}</h2>
          <IconButton label={t("app.newThread")} shortcut="n" onClick={() => navigate("/")}>
            <SquarePen size={18} />
          </IconButton>
          <IconButton label={t("app.hideList")} onClick={toggleList}>
            <PanelLeft size={18} />
          </IconButton>
        </header>
        <ThreadList onOpen={() => setListOverAt(undefined)} />
      </aside>
      {isListOver && (
        <button
          type="button"
          className="list-veil"
          aria-label={t("app.close")}
          onClick={() => setListOverAt(undefined)}
        />
      )}
      <main className="main" id="main" tabIndex={-1}>
        <button type="button" className="list-button icon-button" aria-label={t("app.showList")} onClick={toggleList}>
          <PanelLeft size={20} />
        </button>
        {children}
      </main>
      {palette && <palette.Palette onClose={() => setOpen(undefined)} />}
      {open === "keys" && <KeysDialog onClose={() => setOpen(undefined)} />}
    </div>
  );
}

/** Says when the page does not hear of what happens on the server. */
function ConnectionMark() {
  const { t } = useTranslation();
  const connection = useConnection();
  return (
    <div className="rail-connection" role="status">
      {connection === "lost" && (
        <span title={t("app.reconnecting")}>
          <CloudOff size={20} aria-hidden="true" />
          <span>{t("app.offline")}</span>
        </span>
      )}
    </div>
  );
}

/** Goes to the next thing to decide on or, where there is none on the page, to the next chat of the list. */
function moveBy(by: number): void {
  const lists = [".approval-card", ".run-link", ".thread-link"];
  const found = lists.map((list) => [...document.querySelectorAll<HTMLElement>(list)]);
  const items = found.find((list) => list.length > 0) ?? [];
  const at = items.findIndex((item) => item.contains(document.activeElement));
  items[Math.min(items.length - 1, Math.max(0, at + by))]?.focus();
}

/** Goes to what waits for a decision: on this page, else in the inbox. */
function goToWaiting(navigate: (to: string) => void): void {
  const card = document.querySelector<HTMLElement>(".approval-card");
  if (card === null) navigate("/inbox");
  else card.focus();
}

function useShellCommands(
  caller: Caller | undefined,
  navigate: (to: string) => void,
  setOpen: (open: "palette" | "keys") => void,
): void {
  const { t } = useTranslation();
  const commands = useMemo((): Command[] => {
    const themes = { system: t("app.themeSystem"), light: t("app.themeLight"), dark: t("app.themeDark") };
    return [
      {
        id: "palette",
        group: "settings",
        label: t("app.commands"),
        keys: "mod+k",
        icon: <Search size={16} />,
        run: () => setOpen("palette"),
      },
      {
        id: "keys",
        group: "settings",
        label: t("app.keys"),
        keys: "?",
        icon: <Keyboard size={16} />,
        run: () => setOpen("keys"),
      },
      {
        id: "new",
        group: "places",
        label: t("app.newThread"),
        keys: "n",
        icon: <SquarePen size={16} />,
        run: () => navigate("/"),
      },
      ...placesOf(caller).map(({ id, address, label, icon: Icon, keys }): Command => ({
        id,
        group: "places",
        label: t(label),
        keys,
        icon: <Icon size={16} />,
        run: () => navigate(address),
      })),
      {
        id: "waiting",
        group: "places",
        label: t("keys.waiting"),
        keys: "mod+j",
        icon: <Inbox size={16} />,
        run: () => goToWaiting(navigate),
      },
      { id: "next", group: "here", label: t("keys.nextItem"), keys: "j", run: () => moveBy(1) },
      { id: "previous", group: "here", label: t("keys.previousItem"), keys: "k", run: () => moveBy(-1) },
      ...(["system", "light", "dark"] as const).map((theme): Command => ({
        id: `theme-${theme}`,
        group: "settings",
        label: `${t("app.theme")}: ${themes[theme]}`,
        icon: <MoonStar size={16} />,
        run: () => setPreferences({ theme }),
      })),
      ...(["en", "zh"] as const).map((language): Command => ({
        id: `language-${language}`,
        group: "settings",
        label: `${t("app.language")}: ${languages[language]}`,
        icon: <Languages size={16} />,
        run: () => {
          setPreferences({ language });
          void switchLanguage(language);
        },
      })),
    ];
  }, [caller, navigate, setOpen, t]);
  useCommands(commands);
}
