import { useMemo, useSyncExternalStore } from "react";
import * as z from "zod/mini";
import { keepText, onTexts, readText, valueOf } from "./texts.ts";

const place = "put-off";
/** Questions that are remembered: those that were answered long ago are forgotten. */
const most = 500;

function idsOf(text: string): readonly string[] {
  return valueOf(text, z.array(z.string())) ?? [];
}

function keep(ids: readonly string[]): void {
  keepText(place, JSON.stringify([...new Set(ids)].slice(-most)));
}

/** Puts a question off, on this device: it stands apart from the others until it is answered or brought back. */
export function putOff(id: string): void {
  keep([...idsOf(readText(place)), id]);
}

/** Puts questions that were put off with the others again. */
export function bringBack(ids: readonly string[]): void {
  keep(idsOf(readText(place)).filter((id) => !ids.includes(id)));
}

/** The questions that were put off. */
export function usePutOff(): ReadonlySet<string> {
  const text = useSyncExternalStore(onTexts, () => readText(place));
  return useMemo(() => new Set(idsOf(text)), [text]);
}
