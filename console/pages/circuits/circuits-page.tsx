import CircuitBoard from "icon:circuit-board";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import * as z from "zod/mini";
import { onChange } from "../../api/live/feed.ts";
import { readCircuitsAgain } from "../../api/shaping/circuits.ts";
import { circuitAddress, type CircuitPart } from "../../app/addresses.ts";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne } from "../list-and-one.tsx";
import { CircuitList } from "./circuit-list.tsx";
import { CircuitView } from "./circuit-view.tsx";

/** The circuits of the workspace, and what came of their simulations, as it happens. */
export function CircuitsPage() {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const asked = new URLSearchParams(useSearch());
  const name = asked.get("name") ?? undefined;
  useChanges();
  return (
    <ListAndOne
      title={t("circuits.title")}
      back={circuitAddress()}
      isOpen={name !== undefined}
      list={<CircuitList current={name} onOpen={(one) => navigate(circuitAddress(one))} />}
    >
      {name === undefined ? (
        <Empty icon={<CircuitBoard />} title={t("circuits.choose")} hint={t("circuits.chooseHint")} />
      ) : (
        <CircuitView key={name} name={name} part={partOf(asked.get("part"))} />
      )}
    </ListAndOne>
  );
}

function partOf(asked: string | null): CircuitPart {
  return asked === "connections" || asked === "waveforms" ? asked : "netlist";
}

const OperationPatch = z.object({ path: z.string() });
const files = /\.(?:cir|ckt|sp|spice|lib|sub|inc|json)$/iu;

/** Reads again what a tool has changed, also one that the assistant runs now. */
function useChanges(): void {
  useEffect(
    () =>
      onChange(({ type, patch }) => {
        const path = type === "operation" ? z.safeParse(OperationPatch, patch).data?.path : undefined;
        if (path !== undefined && files.test(path)) void readCircuitsAgain();
      }),
    [],
  );
}
