//! The values of parameters: read from JSON, written to JSON, described as a schema and checked, by code that does not know any request.
//!
//! Lenient where the meaning is clear: one text where a list is meant, `"5"` for 5, `null` for a parameter that is not given.

use crate::params::Param;
use crate::{Code, Error, Shape};
use serde_json::{Map, Value as Json, json};

/// The value of one parameter.
pub trait Value {
    /// Reads it. The error says what it must be.
    fn read(&mut self, given: &Json) -> Result<(), String>;
    fn write(&self) -> Json;
}

/// What a type is on the command line and in a schema.
pub trait Kind: Value {
    const SHAPE: Shape;
    /// The placeholder of its value in help, if a parameter has none of its own.
    const PLACEHOLDER: &'static str = "";
    fn schema() -> Json;
}

/// The fields of a request, in the order of its parameters.
pub trait Fields {
    fn field(&self, position: usize) -> &dyn Value;
    fn field_mut(&mut self, position: usize) -> &mut dyn Value;
}

/// Reads parameters that are known to be accepted. The error names the parameter.
pub(crate) fn read(
    request: &mut dyn Fields,
    params: &[Param],
    given: &Map<String, Json>,
) -> Result<(), String> {
    for (position, param) in params.iter().enumerate() {
        let Some(value) = given.get(param.name).filter(|value| !value.is_null()) else { continue };
        let meant = param.respell(value);
        let read = request.field_mut(position).read(&meant);
        read.map_err(|wanted| format!("`{}` must be {wanted}", param.name))?;
    }
    Ok(())
}

/// The parameters that differ from their defaults.
pub(crate) fn write_changed(request: &dyn Fields, usual: &dyn Fields, params: &[Param]) -> Map<String, Json> {
    let values = params.iter().enumerate().map(|(position, param)| {
        (param.name, request.field(position).write(), usual.field(position).write())
    });
    values
        .filter(|(_, value, usual)| value != usual)
        .map(|(name, value, _)| (name.to_owned(), value))
        .collect()
}

/// What a table of parameters can say of their values: which must be there, their words, and their ranges.
pub(crate) fn check(request: &dyn Fields, params: &[Param], example: &str) -> Result<(), Error> {
    let invalid = |message: String, hint: String| Err(Error::new(Code::InvalidArgument, message).hint(hint));
    for (position, param) in params.iter().enumerate() {
        let value = request.field(position).write();
        if let Some(check) = param.check {
            texts_of(&value)
                .try_for_each(|text| check(param.name, text))
                .map_err(|error| if error.hints.is_empty() { error.hint(example) } else { error })?;
        }
        if let Some(what) = param.required.filter(|_| is_blank(&value)) {
            return invalid(format!("missing {what}"), example.to_owned());
        }
        if let (Shape::Choice(words), Json::String(word)) = (param.shape, &value)
            && !words.contains(&word.as_str())
        {
            return invalid(
                format!("unknown {} `{word}`", param.name),
                format!("one of: {}", words.join(", ")),
            );
        }
        if let (Some((least, most)), Some(number)) = (param.range, value.as_u64())
            && !(least..=most).contains(&number)
        {
            return invalid(format!("`{}` is {number}", param.name), format!("{least} to {most}"));
        }
    }
    Ok(())
}

fn texts_of(value: &Json) -> impl Iterator<Item = &str> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    value.as_str().into_iter().chain(items.iter().filter_map(Json::as_str))
}

fn is_blank(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.trim().is_empty(),
        Json::Array(items) => items.iter().all(is_blank),
        _ => false,
    }
}

/// The schemas of parameters, by name.
pub(crate) fn schemas(params: &[Param]) -> Map<String, Json> {
    params.iter().map(|param| (param.name.to_owned(), (param.schema)())).collect()
}

impl Value for String {
    fn read(&mut self, given: &Json) -> Result<(), String> {
        given.as_str().ok_or("a text")?.clone_into(self);
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(self.as_str())
    }
}

impl Kind for String {
    const SHAPE: Shape = Shape::Text;

    fn schema() -> Json {
        json!({"type": "string"})
    }
}

impl Value for Vec<String> {
    fn read(&mut self, given: &Json) -> Result<(), String> {
        let text =
            |value: &Json| value.as_str().map(str::to_owned).ok_or_else(|| "a list of texts".to_owned());
        *self = match given {
            Json::Array(items) => items.iter().map(text).collect::<Result<_, _>>()?,
            one => vec![text(one)?],
        };
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(self.as_slice())
    }
}

impl Kind for Vec<String> {
    const SHAPE: Shape = Shape::List;

    fn schema() -> Json {
        json!({"type": "array", "items": {"type": "string"}})
    }
}

impl Value for bool {
    fn read(&mut self, given: &Json) -> Result<(), String> {
        *self = match given {
            Json::Bool(yes) => *yes,
            Json::String(text) if ["true", "1"].contains(&text.as_str()) => true,
            Json::String(text) if ["false", "0"].contains(&text.as_str()) => false,
            _ => return Err("true or false".to_owned()),
        };
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(*self)
    }
}

impl Kind for bool {
    const SHAPE: Shape = Shape::Flag;

    fn schema() -> Json {
        json!({"type": "boolean"})
    }
}

fn whole_number<N: TryFrom<u64>>(given: &Json) -> Result<N, String> {
    let number = match given {
        Json::String(text) => text.trim().parse().ok(),
        number => number.as_u64(),
    };
    let number = number.ok_or("a whole number, 0 or more")?;
    N::try_from(number).map_err(|_| "a smaller number".to_owned())
}

macro_rules! whole_numbers {
    ($($number:ty)*) => {$(
        impl Value for $number {
            fn read(&mut self, given: &Json) -> Result<(), String> {
                *self = whole_number(given)?;
                Ok(())
            }

            fn write(&self) -> Json {
                Json::from(*self)
            }
        }

        impl Kind for $number {
            const SHAPE: Shape = Shape::Count;
            const PLACEHOLDER: &'static str = "N";

            fn schema() -> Json {
                json!({"type": "integer"})
            }
        }
    )*};
}
whole_numbers! { u32 u64 }

impl Value for f64 {
    fn read(&mut self, given: &Json) -> Result<(), String> {
        let number = match given {
            Json::String(text) => text.trim().parse().ok(),
            number => number.as_f64(),
        };
        *self = number.ok_or("a number")?;
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(*self)
    }
}

impl Kind for f64 {
    const SHAPE: Shape = Shape::Number;
    const PLACEHOLDER: &'static str = "N";

    fn schema() -> Json {
        json!({"type": "number"})
    }
}

/// A parameter that may be absent.
impl<T: Value + Default> Value for Option<T> {
    fn read(&mut self, given: &Json) -> Result<(), String> {
        let mut value = T::default();
        value.read(given)?;
        *self = Some(value);
        Ok(())
    }

    fn write(&self) -> Json {
        self.as_ref().map_or(Json::Null, Value::write)
    }
}

impl<T: Kind + Default> Kind for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const PLACEHOLDER: &'static str = T::PLACEHOLDER;

    fn schema() -> Json {
        T::schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Value + Default>(given: Json) -> Result<T, String> {
        let mut value = T::default();
        value.read(&given).map(|()| value)
    }

    #[test]
    fn a_value_is_read_where_its_meaning_is_clear() {
        assert_eq!(read::<u64>(json!("5")), Ok(5));
        assert_eq!(read::<bool>(json!("1")), Ok(true));
        assert_eq!(read::<Vec<String>>(json!("one")), Ok(vec!["one".to_owned()]));
        assert_eq!(read::<Option<f64>>(json!(0.5)), Ok(Some(0.5)));
    }

    #[test]
    fn another_value_is_refused_and_the_error_says_what_is_wanted() {
        assert_eq!(read::<u64>(json!(-1)), Err("a whole number, 0 or more".to_owned()));
        assert_eq!(read::<u32>(json!(1_u64 << 40)), Err("a smaller number".to_owned()));
        assert_eq!(read::<bool>(json!("perhaps")), Err("true or false".to_owned()));
        assert_eq!(read::<String>(json!(7)), Err("a text".to_owned()));
        assert_eq!(read::<Vec<String>>(json!([7])), Err("a list of texts".to_owned()));
    }
}
