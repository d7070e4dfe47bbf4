import CircleUser from "icon:circle-user";
import Keyboard from "icon:keyboard";
import Languages from "icon:languages";
import LogOut from "icon:log-out";
import Monitor from "icon:monitor";
import Moon from "icon:moon";
import Sun from "icon:sun";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { currentKey, forgetKey } from "../api/key.ts";
import type { Caller } from "../api/shapes.ts";
import { Menu } from "../parts/menu.tsx";
import { languages, switchLanguage, type LanguageName } from "../text/language.ts";
import { setPreferences, usePreferences } from "./kept/preferences.ts";
import { places, placesOf } from "./places.tsx";

const isHereByMenu = (at: string) => places.some(({ isIn, isHere }) => isIn === "menu" && isHere(at));

/** Places that the rail has no room for, who is signed in, and how the page looks. */
export function AppMenu({ caller, onKeys }: { caller: Caller | undefined; onKeys: () => void }) {
  const { t, i18n } = useTranslation();
  const [place, navigate] = useLocation();
  const { theme, enterSends, singleKeys } = usePreferences();
  const name = caller?.name ?? undefined;
  const who = name === undefined ? t("app.anyone") : t("app.account", { name });
  const choose = (language: LanguageName) => () => {
    setPreferences({ language });
    void switchLanguage(language);
  };
  return (
    <Menu
      label={`${t("app.more")}: ${t("app.settings")} · ${who}`}
      className={isHereByMenu(place) ? "rail-item rail-here" : "rail-item"}
      button={
        <>
          <CircleUser size={20} />
          <span>{t("app.more")}</span>
        </>
      }
      entries={[
        ...placesOf(caller)
          .filter(({ isIn }) => isIn === "menu")
          .map(({ address, label, icon: Icon, keys, isHere }) => ({
            label: t(label),
            icon: <Icon size={16} />,
            shortcut: keys,
            checked: isHere(place),
            onSelect: () => navigate(address),
          })),
        "line",
        {
          label: t("app.themeSystem"),
          icon: <Monitor size={16} />,
          checked: theme === "system",
          onSelect: () => setPreferences({ theme: "system" }),
        },
        {
          label: t("app.themeLight"),
          icon: <Sun size={16} />,
          checked: theme === "light",
          onSelect: () => setPreferences({ theme: "light" }),
        },
        {
          label: t("app.themeDark"),
          icon: <Moon size={16} />,
          checked: theme === "dark",
          onSelect: () => setPreferences({ theme: "dark" }),
        },
        "line",
        { label: languages.en, icon: <Languages size={16} />, checked: i18n.language === "en", onSelect: choose("en") },
        { label: languages.zh, icon: <Languages size={16} />, checked: i18n.language === "zh", onSelect: choose("zh") },
        "line",
        {
          label: t("app.enterSends"),
          checked: enterSends,
          onSelect: () => setPreferences({ enterSends: !enterSends }),
        },
        {
          label: t("app.singleKeys"),
          checked: singleKeys,
          onSelect: () => setPreferences({ singleKeys: !singleKeys }),
        },
        { label: t("app.keys"), icon: <Keyboard size={16} />, shortcut: "?", onSelect: onKeys },
        currentKey() !== undefined && "line",
        currentKey() !== undefined && {
          label: t("app.signOut"),
          icon: <LogOut size={16} />,
          onSelect: () => {
            forgetKey();
            location.reload();
          },
        },
      ]}
    />
  );
}
