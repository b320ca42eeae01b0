//! The values of parameters: read from JSON, written to JSON and described as a schema.
//!
//! Lenient where the meaning is clear: one text where a list is meant, `"5"` for 5, `null` for a parameter that is not given.

use serde_json::{Value as Json, json};

/// How a parameter is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Text,
    /// Several values, separated by commas or repeated.
    List,
    /// Several values, each given separately: commas belong to the text.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// True or false; unlike a flag it can be set to false.
    Switch,
    Count,
    Number,
    Flag,
}

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

    fn read<T: Value + Default>(given: &Json) -> Result<T, String> {
        let mut value = T::default();
        value.read(given).map(|()| value)
    }

    #[test]
    fn a_value_is_read_where_its_meaning_is_clear() {
        assert_eq!(read::<u64>(&json!("5")), Ok(5));
        assert_eq!(read::<bool>(&json!("1")), Ok(true));
        assert_eq!(read::<Vec<String>>(&json!("one")), Ok(vec!["one".to_owned()]));
        assert_eq!(read::<Option<f64>>(&json!(0.5)), Ok(Some(0.5)));
    }

    #[test]
    fn another_value_is_refused_and_the_error_says_what_is_wanted() {
        assert_eq!(read::<u64>(&json!(-1)), Err("a whole number, 0 or more".to_owned()));
        assert_eq!(read::<u32>(&json!(1_u64 << 40)), Err("a smaller number".to_owned()));
        assert_eq!(read::<bool>(&json!("perhaps")), Err("true or false".to_owned()));
        assert_eq!(read::<String>(&json!(7)), Err("a text".to_owned()));
        assert_eq!(read::<Vec<String>>(&json!([7])), Err("a list of texts".to_owned()));
    }
}
