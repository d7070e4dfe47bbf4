import { printSections, verdict, type Figure } from "../figures.ts";
import { playAll, type Cost, type Played } from "./play.ts";

/**
 * `npm run bench:economy`: what everyday requests cost, in requests to the model and in tokens, beside LangGraph's own
 * agent with the same tools. Ends 1 when a target is missed.
 */
const played = await playAll();
const sum = (side: "ours" | "plain", of: keyof Cost): number =>
  played.reduce((total, { [side]: cost }) => total + cost[of], 0);

const figures: Figure[] = [
  { measure: "requests of people", value: played.length, unit: "", min: 60 },
  { measure: "planned without a request to plan", value: unasked().length, unit: "", max: 2 },
  { measure: "with more calls than rounds of tools + 1", value: wasteful().length, unit: "", max: 0 },
  { measure: "with more calls than the plain agent", value: dearer().length, unit: "", max: 0 },
  {
    measure: "tokens sent, to those of the plain agent",
    value: sum("ours", "tokens") / sum("plain", "tokens"),
    unit: "times",
    max: 1.1,
  },
  { measure: "first request without tools, system text", value: most("system", false), unit: "tokens", max: 300 },
  {
    measure: "first request with the everyday tools, all of it",
    value: most("whole", true),
    unit: "tokens",
    max: 2500,
  },
];

const total = (side: "ours" | "plain"): string[] => [
  String(sum(side, "calls")),
  String(sum(side, "tokens")),
  `${Math.round((100 * sum(side, "cacheable")) / sum(side, "sent"))} %`,
  String(sum(side, "replies")),
];

printSections([
  {
    title: "Everyday requests: calls, tokens sent, replies; Millrace / plain agent",
    figures: [],
    rows: [
      ["request", "kind", "rounds", "calls", "tokens", "cacheable", "replies"],
      ...played.map(({ request, conversation, ours, plain }) => [
        shortened(request.say),
        `${conversation.kind} ${conversation.language}`,
        String(request.rounds.length),
        `${ours.calls} / ${plain.calls}`,
        `${ours.tokens} / ${plain.tokens}`,
        `${share(ours)} / ${share(plain)}`,
        `${ours.replies} / ${plain.replies}`,
      ]),
    ],
  },
  {
    title: "Together",
    figures: [],
    rows: [
      ["", "calls", "tokens", "cacheable", "replies"],
      ["Millrace", ...total("ours")],
      ["plain agent", ...total("plain")],
    ],
  },
  { title: "Targets", figures },
]);
if (figures.some((figure) => verdict(figure) === "MISS")) process.exitCode = 1;

function unasked(): Played[] {
  return played.filter(({ first, request }) => first.isPlanned && request.asksForPlan !== true);
}

function wasteful(): Played[] {
  return played.filter(({ ours, request }) => ours.calls > request.rounds.length + 1);
}

function dearer(): Played[] {
  return played.filter(({ ours, plain }) => ours.calls > plain.calls);
}

/** Most tokens of a first request of a conversation, with the tools of every conversation or without any. */
function most(of: "system" | "whole", hasTools: boolean): number {
  const fewest = Math.min(...played.map(({ first }) => first.tools).filter((count) => count > 0));
  const some = played.filter(({ first }) => first.tools === (hasTools ? fewest : 0) && first.isNew);
  return Math.max(...some.map(({ first }) => first[of]));
}

function share({ cacheable, sent }: Cost): string {
  return `${Math.round((100 * cacheable) / sent)} %`;
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/gu, " ");
  return line.length > 48 ? `${line.slice(0, 47)}…` : line;
}
