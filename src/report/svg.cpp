#include "src/report/svg.h"

#include <fmt/format.h>

namespace tik::report {
namespace {

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string point(Point at) { return number(at.x) + ',' + number(at.y); }

std::string attributes(Stroke const& stroke) {
  std::string text = fmt::format(R"(stroke="{}" stroke-width="{}")", stroke.color, number(stroke.width));
  if (!stroke.dash.empty()) text += fmt::format(R"( stroke-dasharray="{}")", stroke.dash);
  return text;
}

std::string title(std::string_view tooltip) {
  return tooltip.empty() ? std::string() : fmt::format("<title>{}</title>", xml_escape(tooltip));
}

} // namespace

std::string xml_escape(std::string_view text) {
  std::string escaped;
  for (char const byte : text) {
    switch (byte) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(byte) >= 0x20 || byte == '\n' || byte == '\t') escaped += byte;
    }
  }
  return escaped;
}

Svg::Svg(double width, double height, std::string_view name) {
  body_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
      "role=\"img\">\n<title>{2}</title>\n",
      number(width), number(height), xml_escape(name));
  rectangle({0, 0}, width, height, color::paper);
}

void Svg::line(Point from, Point to, Stroke const& stroke) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", number(from.x), number(from.y), number(to.x),
                       number(to.y), attributes(stroke));
}

void Svg::polyline(std::vector<Point> const& points, Stroke const& stroke) {
  std::string list;
  for (Point const at : points) list += (list.empty() ? "" : " ") + point(at);
  body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", list, attributes(stroke));
}

void Svg::curve(std::vector<Point> const& points, Stroke const& stroke) {
  if (points.empty()) return;
  std::string path = "M" + point(points[0]);
  for (std::size_t i = 1; i < points.size(); ++i) {
    double const middle = (points[i - 1].x + points[i].x) / 2;
    path += " C" + point({middle, points[i - 1].y}) + ' ' + point({middle, points[i].y}) + ' ' + point(points[i]);
  }
  body_ += fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", path, attributes(stroke));
}

void Svg::rectangle(Point corner, double width, double height, std::string_view fill, double radius) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{}\"/>\n", number(corner.x),
                       number(corner.y), number(width), number(height), number(radius), fill);
}

void Svg::circle(Point center, double radius, std::string_view fill, Stroke const& stroke, std::string_view tooltip) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" {}>{}</circle>\n", number(center.x), number(center.y),
                       number(radius), fill, attributes(stroke), title(tooltip));
}

void Svg::cross(Point center, double size, Stroke const& stroke, std::string_view tooltip) {
  Point const a{center.x - size, center.y - size}, b{center.x + size, center.y + size};
  Point const c{center.x - size, center.y + size}, d{center.x + size, center.y - size};
  body_ += fmt::format("<path d=\"M{} L{} M{} L{}\" fill=\"none\" stroke-linecap=\"round\" {}>{}</path>\n", point(a), point(b),
                       point(c), point(d), attributes(stroke), title(tooltip));
}

void Svg::text(Point at, std::string_view content, TextStyle const& style) {
  static constexpr std::string_view anchors[] = {"start", "middle", "end"};
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", number(at.x),
                       number(at.y), number(style.size), style.color, anchors[static_cast<int>(style.anchor)],
                       style.bold ? " font-weight=\"600\"" : "", xml_escape(content));
}

std::string Svg::str() const { return body_ + "</svg>\n"; }

} // namespace tik::report
