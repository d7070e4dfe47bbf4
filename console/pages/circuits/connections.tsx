import CircuitBoard from "icon:circuit-board";
import Maximize from "icon:maximize";
import Minus from "icon:minus";
import Plus from "icon:plus";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Netlist } from "../../api/shaping/circuit-shapes.ts";
import { visible } from "../../markdown/links.ts";
import { IconButton } from "../../parts/button.tsx";
import { useDragScroll } from "../../parts/graph/drag-scroll.ts";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { connectionsOf, maxParts, type Pin, type Placed } from "./connections-layout.ts";

/** The zoom factor of a button, and the minimum and maximum scale. */
const [step, minScale, maxScale] = [1.5, 0.3, 4];

/** A picture of what is connected with what: a net that is pressed is marked, here and in the netlist. */
export function Connections({
  name,
  netlist,
  net,
  onNet,
}: {
  name: string;
  netlist: Netlist;
  /** The net that is looked at. */
  net: string | undefined;
  onNet: (net: string | undefined) => void;
}) {
  const { t } = useTranslation(manage);
  const { places, pins, width, height } = useMemo(() => connectionsOf(netlist), [netlist]);
  // Without one it is as large as there is room for it.
  const [scale, setScale] = useState<number>();
  const drag = useDragScroll();
  const own = netlist.nets.filter(({ subcircuit }) => subcircuit === null);
  const parts = netlist.parts.filter(({ subcircuit }) => subcircuit === null);
  if (parts.length === 0) return <Empty icon={<CircuitBoard />} title={t("circuits.noParts")} />;
  const ofNet = new Set(own.find((one) => one.name === net)?.parts);
  const isMarked = ({ kind, name: one }: Placed): boolean => (kind === "net" ? one === net : ofNet.has(one));
  const size = scale ?? 1;
  const zoom = (by: number) => setScale(Math.min(maxScale, Math.max(minScale, size * by)));
  const toggle = (one: string) => onNet(one === net ? undefined : one);
  return (
    <>
      <p className="hint">{t("circuits.drawing")}</p>
      {parts.length > maxParts && <p className="hint">{t("circuits.tooMany", { count: maxParts })}</p>}
      <div className="filters" role="group" aria-label={t("circuits.size")}>
        <IconButton label={t("circuits.larger")} disabled={size >= maxScale} onClick={() => zoom(step)}>
          <Plus size={16} />
        </IconButton>
        <IconButton label={t("circuits.smaller")} disabled={size <= minScale} onClick={() => zoom(1 / step)}>
          <Minus size={16} />
        </IconButton>
        <IconButton label={t("circuits.fit")} disabled={scale === undefined} onClick={() => setScale(undefined)}>
          <Maximize size={16} />
        </IconButton>
      </div>
      <div className="connections" role="group" tabIndex={0} aria-label={t("circuits.connections")} {...drag}>
        <svg
          role="img"
          aria-label={t("circuits.drawingOf", { name: visible(name), parts: parts.length, nets: own.length })}
          viewBox={`0 0 ${Math.ceil(width)} ${Math.ceil(height)}`}
          width={Math.ceil(width * size)}
          height={Math.ceil(height * size)}
          data-fits={scale === undefined || undefined}
        >
          {pins.map((pin, at) => (
            <path key={at} className="pin" d={wayOf(pin)} data-on={pin.net === net || undefined} />
          ))}
          {places.map((place, at) => (
            <Box key={at} place={place} isMarked={isMarked(place)} isGround={net === "0"} onNet={toggle} />
          ))}
        </svg>
      </div>
      <section className="prompt-part" aria-label={t("circuits.nets")}>
        <h2>{t("circuits.nets")}</h2>
        <ul className="filters">
          {own.map((one) => (
            <li key={one.name}>
              <button
                type="button"
                className="filter mono"
                aria-pressed={one.name === net}
                data-set={one.name === net || undefined}
                onClick={() => toggle(one.name)}
              >
                {t("circuits.netOf", { net: visible(one.name), parts: visible(listed(one.parts)) })}
              </button>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

/** The first of the parts of a net. */
function listed(parts: readonly string[]): string {
  return parts.length > 4 ? `${parts.slice(0, 3).join(" ")} …` : parts.join(" ");
}

function wayOf({ from: [x1, y1], to: [x2, y2] }: Pin): string {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

function Box({
  place: { kind, name, value, isGrounded, x, y, width, height },
  isMarked,
  isGround,
  onNet,
}: {
  place: Placed;
  isMarked: boolean;
  /** Ground is the net that is looked at. */
  isGround: boolean;
  onNet: (net: string) => void;
}) {
  const isOn = isMarked || (isGround && isGrounded);
  const hasValue = value !== "";
  return (
    <g
      className={`connection-${kind}`}
      data-on={isOn || undefined}
      transform={`translate(${x} ${y})`}
      onPointerUp={kind === "net" ? () => onNet(name) : undefined}
    >
      <rect x={-width / 2} y={-height / 2} width={width} height={height} rx={kind === "net" ? height / 2 : 6} />
      <text dy={hasValue ? "-0.2em" : "0.35em"} textAnchor="middle">
        {visible(name)}
      </text>
      {hasValue && (
        <text dy="1.05em" textAnchor="middle" className="connection-value">
          {visible(value)}
        </text>
      )}
      {isGrounded && (
        <path
          className="ground"
          d={`M0 ${height / 2}v6M-8 ${height / 2 + 6}h16M-5 ${height / 2 + 9}h10M-2 ${height / 2 + 12}h4`}
        />
      )}
    </g>
  );
}
