/// <reference types="vitepress/client" />

import DefaultTheme from "vitepress/theme";
import "./style.css";

export default DefaultTheme;
