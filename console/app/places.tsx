import Activity from "icon:activity";
import Bot from "icon:bot";
import Brain from "icon:brain";
import CalendarClock from "icon:calendar-clock";
import CircuitBoard from "icon:circuit-board";
import Database from "icon:database";
import FilePenLine from "icon:file-pen-line";
import FolderTree from "icon:folder-tree";
import Inbox from "icon:inbox";
import ListChecks from "icon:list-checks";
import MessageSquare from "icon:message-square";
import Settings from "icon:settings-2";
import Users from "icon:users";
import Workflow from "icon:workflow";
import Wrench from "icon:wrench";
import type { Caller } from "../api/shapes.ts";

/** Places that are as wide as the window. */
export const widePlace =
  /^\/(runs|compare|g|prompts|identity|models|vendors|roles|statistics|tools|mcp|docs|agents|rules|store|memory|crons|tasks|settings|server|web-search|files|changes|circuits)(\/|$)|^\/t\/[^/]+\/run\//u;

/** Where one can go: the first five by the rail, all by its menu or by the palette, each by two keys. */
export const places = [
  {
    id: "chats",
    address: "/",
    label: "app.chats",
    icon: MessageSquare,
    keys: "g c",
    isIn: "rail",
    isHere: (at: string) => at === "/" || (at.startsWith("/t/") && !widePlace.test(at)),
  },
  {
    id: "inbox",
    address: "/inbox",
    label: "app.inbox",
    icon: Inbox,
    keys: "g i",
    isIn: "rail",
    isHere: (at: string) => at === "/inbox",
  },
  {
    id: "runs",
    address: "/runs",
    label: "app.runs",
    icon: Activity,
    keys: "g r",
    isIn: "rail",
    isHere: (at: string) => at === "/runs" || at === "/compare" || /^\/t\/[^/]+\/run\//u.test(at),
  },
  {
    id: "graphs",
    address: "/g",
    label: "app.graphs",
    icon: Workflow,
    keys: "g g",
    isIn: "rail",
    isHere: (at: string) => /^\/g(\/|$)/u.test(at),
  },
  {
    id: "prompts",
    address: "/prompts",
    label: "app.prompts",
    icon: FilePenLine,
    keys: "g p",
    isIn: "rail",
    isHere: (at: string) => /^\/(prompts|identity)(\/|$)/u.test(at),
  },
  {
    id: "models",
    address: "/models",
    label: "app.models",
    icon: Bot,
    keys: "g m",
    isIn: "menu",
    isHere: (at: string) => /^\/(models|vendors|roles|statistics)(\/|$)/u.test(at),
  },
  {
    id: "tools",
    address: "/tools",
    label: "app.tools",
    icon: Wrench,
    keys: "g t",
    isIn: "menu",
    isHere: (at: string) => /^\/(tools|mcp|docs)(\/|$)/u.test(at),
  },
  {
    id: "agents",
    address: "/agents",
    label: "app.agents",
    icon: Users,
    keys: "g a",
    isIn: "menu",
    isHere: (at: string) => /^\/(agents|rules)(\/|$)/u.test(at),
  },
  {
    id: "files",
    address: "/files",
    label: "app.files",
    icon: FolderTree,
    keys: "g f",
    isIn: "menu",
    isHere: (at: string) => /^\/(files|changes)(\/|$)/u.test(at),
  },
  {
    id: "circuits",
    address: "/circuits",
    label: "app.circuits",
    icon: CircuitBoard,
    keys: "g l",
    isIn: "menu",
    isHere: (at: string) => /^\/circuits(\/|$)/u.test(at),
    toolkit: "circuits",
  },
  {
    id: "store",
    address: "/store",
    label: "app.store",
    icon: Database,
    keys: "g d",
    isIn: "menu",
    isHere: (at: string) => /^\/store(\/|$)/u.test(at),
  },
  {
    id: "memory",
    address: "/memory",
    label: "app.memory",
    icon: Brain,
    keys: "g y",
    isIn: "menu",
    isHere: (at: string) => /^\/memory(\/|$)/u.test(at),
    toolkit: "memory",
  },
  {
    id: "crons",
    address: "/crons",
    label: "app.crons",
    icon: CalendarClock,
    keys: "g e",
    isIn: "menu",
    isHere: (at: string) => /^\/crons(\/|$)/u.test(at),
  },
  {
    id: "tasks",
    address: "/tasks",
    label: "app.tasks",
    icon: ListChecks,
    keys: "g k",
    isIn: "menu",
    isHere: (at: string) => at === "/tasks",
    toolkit: "planner",
  },
  {
    id: "settings",
    address: "/settings",
    label: "app.serverSettings",
    icon: Settings,
    keys: "g s",
    isIn: "menu",
    isHere: (at: string) => /^\/(settings|server|web-search)(\/|$)/u.test(at),
  },
] as const;

/** The places that the server has for this person: that of a toolkit only where the toolkit is on. */
export function placesOf(caller: Caller | undefined): readonly (typeof places)[number][] {
  const { features } = caller ?? {};
  return places.filter((place) => !("toolkit" in place) || features === undefined || features[place.toolkit] === true);
}
