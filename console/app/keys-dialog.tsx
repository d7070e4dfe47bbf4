import { useTranslation } from "react-i18next";
import { Dialog } from "../parts/dialog.tsx";
import { shownKeys } from "./keys.ts";

/** All keys of the console. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const rows: [string, string][] = [
    ["mod+k", t("keys.palette")],
    ["n", t("keys.new")],
    ["/", t("keys.search")],
    ["mod+f", t("find.title")],
    ["g c · g i · g r · g g · g p · g m · g f · g s", t("keys.go")],
    ["mod+j", t("keys.waiting")],
    ["j · k", t("keys.next")],
    ["e", t("keys.edit")],
    ["a · r · v · l", t("keys.decide")],
    ["u", t("keys.undo")],
    ["↑", t("keys.last")],
    ["Enter", t("keys.send")],
    ["Shift Enter", t("keys.line")],
    ["Esc", t("keys.escape")],
    ["?", t("keys.help")],
  ];
  return (
    <Dialog title={t("app.keys")} onClose={onClose}>
      <div className="keys" role="group" aria-label={t("app.keys")} tabIndex={0}>
        <dl>
          {rows.map(([keys, text]) => (
            <div key={keys}>
              <dt>
                {keys.split(" · ").map((one) => (
                  <kbd key={one}>{shownKeys(one)}</kbd>
                ))}
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}
